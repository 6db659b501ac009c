"""What is asked for, and what a family of tables and figures does about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from betanll.experiments._paper import Method
from betanll.sweeps import Store, Task


@dataclass(frozen=True)
class Request:
    """Tables and figures of one family, and what they are restricted to.

    Parameters
    ----------
    artefacts : sequence of str
    preset : {"smoke", "laptop", "paper"}
    datasets : sequence of str
        Of the family.
    methods : sequence of Method, optional
        By default those of the paper.
    """

    artefacts: Sequence[str]
    preset: str
    datasets: Sequence[str] = ()
    methods: Sequence[Method] | None = None

    def methods_of(
        self, artefact: str, shown: tuple[Method, ...]
    ) -> tuple[Method, ...]:
        """Return the methods of a table that shows no others, at least one."""
        if self.methods is None:
            return shown
        found = tuple(method for method in shown if method in self.methods)
        if not found:
            raise ValueError(
                f"{artefact} shows none of the methods asked for; it has "
                + "; ".join(method.label for method in shown)
            )
        return found


class Family(ABC):
    """Tables and figures that are drawn from the same trainings."""

    #: Their names on the command line.
    artefacts: ClassVar[tuple[str, ...]]
    #: Datasets they may be restricted to; those without any cannot be restricted.
    datasets: ClassVar[tuple[str, ...]] = ()
    #: Names of methods they may be restricted to, or extended by.
    methods: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def check_data(self, request: Request) -> None:
        """Refuse data that is not here, before anything is trained."""

    @abstractmethod
    def tasks(self, request: Request) -> list[Task]:
        """Return the trainings."""

    def max_workers(self, request: Request) -> int | None:
        """Return how many trainings fit the machine at once, None for any number."""
        return None

    def further_tasks(self, request: Request, store: Store) -> list[Task]:
        """Return trainings that depend on the results of those before."""
        return []

    @abstractmethod
    def write(self, request: Request, store: Store, folder: Path) -> list[Path]:
        """Write what the stored results give."""
