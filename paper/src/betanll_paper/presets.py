"""Presets of experiments, and their differences from the paper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Preset:
    """The amount of work of an experiment.

    Parameters
    ----------
    repeats : int
        Runs of each setting.
    length : mapping of str to int
        Updates or epochs of a run, by what is trained or on what. The length of
        everything without a name of its own is under ``""``.
    grid : mapping of str to sequence
        Values that are tried, by the name of one of them.
    sizes : mapping of str to int or None
        Amounts of data, by the name of one piece; None for all there is.
    options : mapping of str to object
        Settings that differ between presets, but not in amount.
    repeat, unit : str
        Names of what `repeats` and `length` count.

    Examples
    --------
    >>> paper = Preset(10, {"": 500}, {"network": ("2x32", "3x64")})
    >>> Preset(4, {"": 20}, {"network": ("2x32",)}).shortened(paper)
    ['20 epochs instead of 500', '4 seeds instead of 10', '1 network instead of 2']
    >>> Preset(1, {"": 20, "NLL": 500}).note("laptop", paper=Preset(1, {"": 500}))
    'Shortened run (preset laptop): 500 epochs of NLL, 20 epochs of the others instead \
of 500, 1 seed.'
    """

    repeats: int
    length: Mapping[str, int]
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    sizes: Mapping[str, int | None] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    repeat: str = "seed"
    unit: str = "epoch"

    def length_of(self, name: str) -> int:
        """Return the updates or epochs of a run of this name."""
        return self.length[name if name in self.length else ""]

    def shortened(self, paper: Preset) -> list[str]:
        """Return the differences from the paper as texts."""
        return [text for text, is_shortened in self._amounts(paper) if is_shortened]

    def warnings(self, paper: Preset) -> list[str]:
        """Return the sentence that warns of a shortened run, if it is one."""
        texts = self.shortened(paper)
        return [f"Shortened run: {'; '.join(texts)}."] if texts else []

    def note(self, name: str, paper: Preset) -> str:
        """Return all amounts in a sentence, with the name of the preset."""
        is_short = bool(self.shortened(paper))
        start = f"Shortened run (preset {name})" if is_short else f"Preset {name}"
        return f"{start}: {', '.join(text for text, _ in self._amounts(paper))}."

    def _amounts(self, paper: Preset) -> Iterator[tuple[str, bool]]:
        """Yield texts, and whether each names less than in the paper."""
        groups: dict[tuple[int, int], dict[str, None]] = {}
        for name in sorted([*self.length, *paper.length], key=lambda name: not name):
            lengths = self.length_of(name), paper.length_of(name)
            groups.setdefault(lengths, {})[name] = None
        for (ours, theirs), names in groups.items():
            what = f" of {_listed(names)}" if len(groups) > 1 else ""
            yield _compared(ours, theirs, self.unit + what)
        for name, size in self.sizes.items():
            if size is not None and size != paper.sizes.get(name, 0):
                yield _compared(size, paper.sizes.get(name, size), name)
        yield _compared(self.repeats, paper.repeats, self.repeat)
        for name, values in self.grid.items():
            yield _compared(len(values), len(paper.grid[name]), name)
        for name, value in self.options.items():
            other = paper.options.get(name)
            instead = "" if other in (None, value) else f" instead of {other}"
            yield f"{name.replace('_', ' ')} {value}{instead}", value != other


def counted(n: int, name: str) -> str:
    """Return a number and what it counts.

    Examples
    --------
    >>> counted(1, "update"), counted(10_000, "epoch of NLL")
    ('1 update', '10,000 epochs of NLL')
    """
    noun, of, rest = name.partition(" of ")
    return f"{n:,} {noun}{'' if n == 1 else 's'}{of}{rest}"


def _compared(ours: int, theirs: int | None, name: str) -> tuple[str, bool]:
    text = counted(ours, name)
    if ours == theirs:
        return text, False
    paper = "all" if theirs is None else f"{theirs:,}"
    return f"{text} instead of {paper}", theirs is None or ours < theirs


def _listed(names: Iterable[str]) -> str:
    """Return names as an enumeration, the unnamed rest as the others."""
    *first, last = [name or "the others" for name in names]
    return f"{', '.join(first)} and {last}" if first else last
