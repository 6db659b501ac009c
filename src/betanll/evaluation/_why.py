"""Why the interval of a row is as wide as it is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from betanll.evaluation._facts import RowFacts, Usual
from betanll.evaluation._outside import OutsideCell

Cause: TypeAlias = Literal["outside the training data", "noise", "little data", "usual"]
#: From here on, in units of the typical spread, an interval is called wide.
WIDE = 1.25


class Driver(NamedTuple):
    """What the spread of a row owes to the cell of one column.

    Parameters
    ----------
    column, value : str
        The cell as a sentence shows it.
    factor : float
        Spread of the row relative to the spread with cells of other rows instead
        (geometric mean): 2 if this cell doubles it.
    """

    column: str
    value: str
    factor: float


@dataclass(frozen=True)
class RowExplanation:
    """One row and one target: the prediction, and why it is uncertain.

    Parameters
    ----------
    row : int
        Position among the rows that were explained, from 0.
    name : str
        What the row is called in tables and sentences.
    target : str
        Name of the target.
    truth : float
        NaN if it is not known.
    mean, std, lower, upper : float
        Prediction and 90% interval.
    z, crps : float
        Standard deviations between truth and mean, and error of the distribution.
    std_ratio : float
        `std` relative to the median of all rows.
    noise, usual_noise, noise_rank : float
        What the networks call noise, as a standard deviation; its median, and the
        share of the rows with less.
    doubt, usual_doubt : float
        Standard deviation of the means of the networks, and its median; NaN for a
        single network, which cannot disagree with itself.
    outside : tuple of OutsideCell
        Cells unlike those of the training data.
    drivers : tuple of Driver
        Columns whose cells widen the interval, most first; only in the explanation of
        a single row.
    """

    row: int
    name: str
    target: str
    truth: float
    mean: float
    std: float
    lower: float
    upper: float
    z: float
    crps: float
    std_ratio: float
    noise: float
    usual_noise: float
    noise_rank: float
    doubt: float
    usual_doubt: float
    outside: tuple[OutsideCell, ...]
    drivers: tuple[Driver, ...] = ()

    @property
    def doubt_share(self) -> float:
        """Share of the disagreement in the variance, NaN for a single network."""
        total = self.noise**2 + self.doubt**2
        return self.doubt**2 / total if total > 0 else math.nan

    @property
    def cause(self) -> Cause:
        """What to say in a word: the larger part of the excess over the usual."""
        if self.outside:
            return "outside the training data"
        if not self.std_ratio >= WIDE:
            return "usual"
        more_doubt = self.doubt**2 - self.usual_doubt**2
        more_noise = self.noise**2 - self.usual_noise**2
        return "little data" if more_doubt > more_noise else "noise"

    def __str__(self) -> str:
        return "\n".join(sentences(self))


def explained_row(
    facts: RowFacts,
    usual: Usual,
    i: int,
    target: int,
    *,
    row: int,
    name: str,
    target_name: str,
    is_single: bool,
    drivers: tuple[Driver, ...] = (),
) -> RowExplanation:
    """Return row `i` of the facts, compared with what is usual."""

    def number(array: object) -> float:
        return float(array[i, target])  # type: ignore[index]

    noise = number(facts.noise)
    return RowExplanation(
        row=row,
        name=name,
        target=target_name,
        truth=number(facts.target),
        mean=number(facts.mean),
        std=number(facts.std),
        lower=number(facts.lower),
        upper=number(facts.upper),
        z=number(facts.z),
        crps=number(facts.crps),
        std_ratio=_ratio(number(facts.std), float(usual.std[target])),
        noise=noise,
        usual_noise=float(usual.noise[target]),
        noise_rank=usual.noise_rank(noise, target),
        doubt=math.nan if is_single else number(facts.doubt),
        usual_doubt=math.nan if is_single else float(usual.doubt[target]),
        outside=tuple(facts.outside[i]),
        drivers=drivers,
    )


def sentences(row: RowExplanation) -> Iterator[str]:
    """Yield the prediction, the verdict, and what it rests on."""
    yield (
        f"Row {row.name}: {row.target} {row.mean:.4g}, 90% interval {row.lower:.4g} to "
        f"{row.upper:.4g}.{_on_the_truth(row)}"
    )
    if not row.std_ratio >= WIDE:
        size = "about as wide as usual" if row.std_ratio > 1 / WIDE else "narrow"
        yield f"The interval is {size}: {row.std_ratio:.2g} times the typical width."
    else:
        yield (
            f"The interval is wide: {row.std_ratio:.2g} times the typical width. "
            f"Main reason: {row.cause}."
        )
    for cell in row.outside:
        yield f"Outside the training data: {cell}. Do not rely on the interval."
    yield (
        f"Noise: standard deviation {row.noise:.4g}, typical {row.usual_noise:.4g}; "
        f"{math.floor(100 * row.noise_rank)}% of the rows have less."
    )
    if math.isnan(row.doubt):
        yield "Little data: unknown, since a single network cannot tell."
    else:
        yield (
            f"Little data: the networks differ by {row.doubt:.4g}, typically "
            f"{row.usual_doubt:.4g}; this is {row.doubt_share:.0%} of the variance."
        )
    for driver in row.drivers:
        yield (
            f"{driver.column} = {driver.value} makes the interval {driver.factor:.2g} "
            "times as wide as other values of this column would."
        )


def _on_the_truth(row: RowExplanation) -> str:
    if math.isnan(row.truth):
        return ""
    side = "above" if row.z > 0 else "below"
    place = "inside" if row.lower <= row.truth <= row.upper else "outside"
    return (
        f" The truth, {row.truth:.4g}, is {place}: {abs(row.z):.2g} standard "
        f"deviations {side} the mean."
    )


def _ratio(value: float, usual: float) -> float:
    return value / usual if usual > 0 else math.nan
