"""The course of a training as a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from betanll.files import write_synced, written_atomically


class TrainingLog:
    """Lines of numbers, one for each update.

    Parameters
    ----------
    path : Path
    columns : sequence of str
        The first is the number of the update.
    """

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path = path
        self.columns = tuple(columns)

    def start(self, n_updates: int) -> None:
        """Keep the lines of the first updates, and begin the file if there is none.

        A training that goes on from a checkpoint writes those after it anew.
        """
        lines = [line for line in self._lines() if int(line[0]) <= n_updates]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([self.columns, *lines])
        with written_atomically(self.path) as temporary:
            write_synced(temporary, text.getvalue().encode())

    def add(self, values: dict[str, Any]) -> None:
        """Append a line; what is not given stays empty."""
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([values.get(name, "") for name in self.columns])

    def _lines(self) -> list[list[str]]:
        if not self.path.is_file():
            return []
        with self.path.open(newline="", encoding="utf-8") as file:
            lines = list(csv.reader(file))
        if lines and tuple(lines[0]) != self.columns:
            raise ValueError(f"{self.path} is not the log of such a training")
        # A kill may have cut the last line short.
        return [line for line in lines[1:] if len(line) == len(self.columns)]
