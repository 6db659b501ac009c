"""What the experiments of the paper share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from betanll.sweeps import Experiment, MissingResultsError, Request, Results
from betanll_paper.published.methods import METHODS, Method


class PaperExperiment(Experiment):
    """Tables and figures of the paper, made of the same runs."""

    presets: ClassVar[Mapping[str, Any]] = {
        "smoke": "tiny runs",
        "laptop": "fewer splits and seeds, shorter runs",
        "paper": "everything",
    }
    settings: ClassVar[tuple[str, ...]] = ("data-dir",)
    #: What is done with an artefact, in the sentence that says why it cannot be.
    verb: ClassVar[str] = "written"

    def method_names(self) -> tuple[str, ...]:
        from betanll.objectives import OBJECTIVES

        return tuple(OBJECTIVES)

    def environment(self, request: Request) -> Mapping[str, str]:
        folder = request.settings.get("data-dir")
        return {} if folder is None else {"BETANLL_DATA": str(Path(folder).resolve())}

    def render(
        self, artefact: str, results: Results, request: Request
    ) -> Mapping[str, bytes]:
        from betanll_paper.drawing.marks import NothingToDraw

        try:
            return self.files(artefact, results, request)
        except NothingToDraw as error:
            reason = f"{artefact} cannot be {self.verb}: {error}"
            raise MissingResultsError(reason) from error

    @abstractmethod
    def files(
        self, artefact: str, results: Results, request: Request
    ) -> Mapping[str, bytes]:
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
    (Method(name='beta-nll', beta=0.0), Method(name='mse', beta=None))
    """
    if request.methods is None:
        return tuple(default)
    methods: dict[Method, None] = {}
    for text in request.methods:
        name, colon, beta = text.partition(":")
        if name == "nll":
            methods[Method("beta-nll", 0.0)] = None
        elif name == "beta-nll" and not colon:
            methods.update(dict.fromkeys(m for m in METHODS if m.name == name))
        else:
            methods[Method(name, float(beta) if colon else None)] = None
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
