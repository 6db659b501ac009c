"""Experiments: the tasks for a request, and the files made of their results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from betanll.sweeps._record import Rows
from betanll.sweeps._task import Task


class MissingResultsError(ValueError):
    """The results do not suffice for an artefact; other artefacts may be complete."""


class RequestError(ValueError):
    """An experiment cannot fulfil its part of a request."""


class Results(Protocol):
    """Results so far, such as those of a :class:`Store`."""

    def rows(self, tasks: Iterable[Task]) -> Rows:
        """Return the result rows of these tasks, in the order of the tasks."""
        ...

    def is_done(self, task: Task) -> bool:
        """Return whether a task has a result."""
        ...


@dataclass(frozen=True)
class Request:
    """Which artefacts to make, from which data, with which methods, and where.

    Parameters
    ----------
    artefacts : tuple of str
        Names of tables, figures or other results.
    preset : str
        Amount of work, by a name that the experiment defines.
    datasets : tuple of str
        Names of datasets to restrict the artefacts to; all by default.
    methods : tuple of str, optional
        Methods to compare, such as ``"beta-nll:0.5"``; the experiment has a default.
    settings : mapping of str to str
        Settings that are not part of any task, such as the folder of the data.
    folder : path
        Folder of the files that are written.

    Examples
    --------
    >>> request = Request(("table",), "smoke", methods=("mse", "beta-nll:0.5"))
    >>> request.folder
    PosixPath('betanll-results')
    """

    artefacts: tuple[str, ...]
    preset: str
    datasets: tuple[str, ...] = ()
    methods: tuple[str, ...] | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    folder: Path = Path("betanll-results")

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))


class Experiment(ABC):
    """Artefacts, such as tables and figures, that share tasks.

    :meth:`tasks` and :meth:`render` are required. Packages add experiments to
    ``betanll reproduce`` by entry points of the group ``betanll.experiments``.

    Attributes
    ----------
    name : str
        In messages.
    artefacts : mapping of str to str
        Names of the artefacts, each with a description of one line.
    presets : mapping of str to object
        Values by name, for use by the experiment alone.
    datasets : mapping of str to callable
        Functions without arguments that load the data, by name. Empty if requests
        cannot select datasets.
    settings : tuple of str
        Names of the settings that a request may contain.

    Examples
    --------
    >>> class Echo(Experiment):
    ...     name = "echo"
    ...     artefacts = {"words": "The words, one in a line."}
    ...     presets = {"smoke": 2, "full": 100}
    ...
    ...     def tasks(self, request, results):
    ...         n = self.presets[request.preset]
    ...         return [Task.of(echo, word=f"word {i}") for i in range(n)]
    ...
    ...     def render(self, artefact, results, request):
    ...         rows = results.rows(self.tasks(request, results))
    ...         return {"words.txt": "\\n".join(row["word"] for row in rows).encode()}
    >>> from betanll.sweeps._task import echo
    >>> [task.run() for task in Echo().tasks(Request(("words",), "smoke"), NO_RESULTS)]
    [[{'word': 'word 0'}], [{'word': 'word 1'}]]
    """

    name: ClassVar[str]
    artefacts: ClassVar[Mapping[str, str]]
    presets: ClassVar[Mapping[str, Any]]
    datasets: ClassVar[Mapping[str, Callable[[], Any]]] = {}
    settings: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def tasks(self, request: Request, results: Results) -> list[Task]:
        """Return all tasks of a request that are known so far.

        Called again after these tasks have run, until it returns no new task. A search
        first returns the runs of its grid; once these have results, it also returns
        the runs of the best configuration.
        """

    @abstractmethod
    def render(
        self, artefact: str, results: Results, request: Request
    ) -> Mapping[str, bytes]:
        """Return the content of each file of an artefact, by file name.

        Raises
        ------
        MissingResultsError
            If the results do not suffice; the message names the artefact and why.
        """

    def method_names(self) -> tuple[str, ...]:
        """Return the methods that a request may select; empty if they are fixed."""
        return ()

    def check(self, request: Request) -> None:
        """Raise if anything is missing, before any work; by default, load the data."""
        for name in request.datasets:
            self.datasets[name]()

    def environment(self, request: Request) -> Mapping[str, str]:
        """Return environment variables to set, here and in workers, while tasks run.

        Use them for locations of files, which are never part of a task.
        """
        return {}

    def max_workers(self, request: Request) -> int | None:
        """Return how many tasks the machine can run at once, None for no limit."""
        return None


class _NoResults:
    def rows(self, tasks: Iterable[Task]) -> Rows:
        return []

    def is_done(self, task: Task) -> bool:
        return False


NO_RESULTS: Results = _NoResults()


def split_request(
    request: Request, experiments: Iterable[Experiment], *, option: str = "{}"
) -> list[tuple[Experiment, Request]]:
    """Return the part of a request for each experiment; raise if a part has none."""
    experiments = list(experiments)
    known = [name for one in experiments for name in one.artefacts]
    for name in request.artefacts:
        _refuse_unless_in(known, name, option.format("artefact"))
    asked = [one for one in experiments if set(one.artefacts) & set(request.artefacts)]
    offered = [name for one in asked for name in one.datasets]
    understood = [name for one in asked for name in one.settings]
    is_idle = {
        "method": request.methods and not any(one.method_names() for one in asked),
        "dataset": request.datasets and not offered,
        **{name: name not in understood for name in request.settings},
    }
    idle = [option.format(name) for name, value in is_idle.items() if value]
    if idle:
        concern = "concerns" if len(idle) == 1 else "concern"
        raise RequestError(f"{' and '.join(idle)} {concern} nothing that is asked for.")
    for name in request.datasets:
        _refuse_unless_in(offered, name, option.format("dataset"))
    return [(one, _part(request, one, option)) for one in asked]


def _part(request: Request, one: Experiment, option: str) -> Request:
    """Return the part of a request that concerns one experiment."""
    mine = tuple(n for n in dict.fromkeys(request.artefacts) if n in one.artefacts)
    names = ", ".join(mine)
    if request.preset not in one.presets:
        raise RequestError(
            f"{names} needs a {option.format('preset')} among {', '.join(one.presets)}"
        )
    datasets = tuple(n for n in dict.fromkeys(request.datasets) if n in one.datasets)
    if request.datasets and one.datasets and not datasets:
        raise RequestError(
            f"{names} needs a {option.format('dataset')} among "
            f"{', '.join(one.datasets)}"
        )
    methods = one.method_names()
    for text in request.methods or ():
        name = text.partition(":")[0]
        if methods and name not in methods:
            raise RequestError(
                f"{names} can be made with {', '.join(methods)}, not with {name}"
            )
    settings = {n: v for n, v in request.settings.items() if n in one.settings}
    return Request(
        mine,
        request.preset,
        datasets or tuple(one.datasets),
        request.methods or None,
        settings,
        request.folder,
    )


def _refuse_unless_in(known: list[str], name: str, what: str) -> None:
    if name not in known:
        raise RequestError(f"{what} must be among {', '.join(known)}, got {name!r}")
