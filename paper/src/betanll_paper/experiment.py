"""The base class of the paper's experiments."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from betanll.sweeps import Experiment, MissingResultsError, Request, Results, Task
from betanll_paper.published.methods import METHODS, Method

Rows = list[dict[str, Any]]


class PaperExperiment(Experiment):
    """Tables and figures of the paper, made of the same runs."""

    presets: ClassVar[Mapping[str, Any]] = {
        "smoke": "tiny runs",
        "laptop": "fewer splits and seeds, shorter runs",
        "paper": "everything",
    }
    settings: ClassVar[tuple[str, ...]] = ("data-dir",)

    def method_names(self) -> tuple[str, ...]:
        from betanll.objectives import OBJECTIVES

        return tuple(OBJECTIVES)

    def environment(self, request: Request) -> Mapping[str, str]:
        folder = request.settings.get("data-dir")
        return {} if folder is None else {"BETANLL_DATA": str(Path(folder).resolve())}

    def tasks(self, request: Request, results: Results) -> list[Task]:
        wanted = (self.tasks_of(name, request, results) for name in request.artefacts)
        return list(dict.fromkeys(itertools.chain.from_iterable(wanted)))

    def render(
        self, artefact: str, results: Results, request: Request
    ) -> Mapping[str, bytes]:
        from betanll_paper.drawing.marks import NothingToDraw

        rows = results.rows(self.shown_tasks(artefact, request, results))
        try:
            return self.files(artefact, rows, request)
        except NothingToDraw as error:
            reason = f"{artefact} cannot be written: {error}"
            raise MissingResultsError(reason) from error

    @abstractmethod
    def tasks_of(self, artefact: str, request: Request, results: Results) -> list[Task]:
        """Return the tasks of one artefact that are known so far."""

    def shown_tasks(
        self, artefact: str, request: Request, results: Results
    ) -> list[Task]:
        """Return the tasks whose results an artefact shows, if they are stored."""
        return self.tasks_of(artefact, request, results)

    @abstractmethod
    def files(self, artefact: str, rows: Rows, request: Request) -> dict[str, bytes]:
        """Return the files of an artefact by their names.

        Raises
        ------
        NothingToDraw
            If the results do not suffice.
        """


def methods_or(request: Request, default: Sequence[Method]) -> tuple[Method, ...]:
    """Return the methods that a request names, without any the default.

    ``"beta-nll"`` alone means the five of the paper.

    Examples
    --------
    >>> methods_or(Request(("table1",), "smoke", methods=("nll", "mse")), METHODS)
    (Method(spec='beta-nll:0'), Method(spec='mse'))
    """
    if request.methods is None:
        return tuple(default)
    methods: dict[Method, None] = {}
    for text in request.methods:
        of_paper = [method for method in METHODS if method.name == text == "beta-nll"]
        methods.update(dict.fromkeys(of_paper or [Method(text)]))
    return tuple(methods)


def methods_among(
    request: Request, artefact: str, shown: Sequence[Method]
) -> tuple[Method, ...]:
    """Return the methods of an artefact that shows no others, at least one."""
    wanted = methods_or(request, shown)
    found = tuple(method for method in shown if method in wanted)
    if not found:
        raise ValueError(
            f"{artefact} shows none of the methods asked for; it has "
            + "; ".join(method.label for method in shown)
        )
    return found
