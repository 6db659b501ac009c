"""A calibration curve small enough for a notebook cell, without Matplotlib."""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import ArrayLike

from betanll._arrays import as_array

_SIZE, _MARGIN = 120, 24
_TEXT = 'font-size="9" fill="currentColor"'


def calibration_svg(levels: ArrayLike, fractions: ArrayLike, *, title: str = "") -> str:
    """Return a small SVG element of promised against observed coverage.

    Parameters
    ----------
    levels : array of shape (n,)
        Promised coverages.
    fractions : array of shape (n,) or (n, d)
        Observed coverages, a column for each curve; NaN is left out.
    title : str
        Says what the picture shows, also to those who do not see it.

    Examples
    --------
    >>> svg = calibration_svg([0.5, 0.9], [0.45, 0.9], title="price")
    >>> svg[:4], "<title>price</title>" in svg
    ('<svg', True)
    """
    promised, observed = as_array(levels), as_array(fractions)
    columns = observed[:, None] if observed.ndim == 1 else observed
    low, high = _MARGIN, _MARGIN + _SIZE

    def points(column: np.ndarray) -> str:
        return " ".join(
            f"{low + _SIZE * x:.1f},{high - _SIZE * y:.1f}"
            for x, y in zip(promised, column, strict=True)
            if not np.isnan(y)
        )

    curves = "".join(
        f'<polyline points="{points(column)}" fill="none" stroke="#2b7bba" '
        'stroke-width="2"/>'
        for column in columns.T
    )
    side = high + _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{side}" height="{side}" '
        f'viewBox="0 0 {side} {side}" role="img"><title>{escape(title)}</title>'
        f'<path d="M{low} {low}V{high}H{high}" fill="none" stroke="currentColor"/>'
        f'<path d="M{low} {high}L{high} {low}" stroke="currentColor" '
        f'stroke-dasharray="3 3" opacity="0.5"/>{curves}'
        f'<text x="{low}" y="{side - 8}" {_TEXT}>promised coverage</text>'
        f'<text transform="translate(14 {high}) rotate(-90)" {_TEXT}>observed</text>'
        "</svg>"
    )
