"""Figures as SVG elements that stand inside an HTML page."""

from __future__ import annotations

import io
import re

from markupsafe import Markup, escape
from matplotlib.figure import Figure

from betanll.reports.style import report_style

_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_ROOT = re.compile(r'<svg [^>]*?viewBox="([^"]*)"[^>]*>')
_COORDINATES = re.compile(r' (?:d|x|y|width|height|transform)="[^"]*"')
_DIGITS = re.compile(r"(\.\d\d)\d+")
_REFERENCE = re.compile(r'(?:url\(#|href="#)([^")]+)')


def inline_svg(figure: Figure, *, prefix: str, label: str) -> Markup:
    """Return the figure as one ``<svg>`` element.

    Black becomes the colour of the page's text and white that of its surface, so the
    figure follows a dark page. The element scales to the width of its container.

    Parameters
    ----------
    figure : matplotlib Figure
    prefix : str
        Begins every id, so that figures of one page do not share any.
    label : str
        Accessible name: what a person hears who does not see the figure.
    """
    buffer = io.StringIO()
    with report_style():
        figure.savefig(buffer, format="svg", transparent=True, metadata=_NO_METADATA)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    # The comments repeat texts; the style element would apply to the whole page.
    svg = re.sub(r"<!--.*?-->|<style.*?</style>|<metadata.*?</metadata>", "", svg)
    svg = re.sub(r"\s*\n\s*", "\n", svg)
    svg = re.sub(r"<defs>\s*</defs>\n", "", svg).replace("xlink:href", "href")
    # Texts take the font of the page, and a hundredth of a point is precise enough.
    svg = re.sub(r" font-family: [^;]*;", "", svg)
    svg = re.sub(r' transform="rotate\(-?0 [^"]*"', "", svg)
    svg = _COORDINATES.sub(lambda m: _DIGITS.sub(r"\1", m[0]), svg)
    svg = _own_ids(svg, prefix)
    # Black is the initial fill, which Matplotlib therefore does not write.
    svg = re.sub(r"#000000\b", "currentColor", svg)
    svg = re.sub(r"#ffffff\b", "var(--surface)", svg)
    root = '<svg viewBox="{}" fill="currentColor" role="img" aria-label="{}">'
    return Markup(_ROOT.sub(lambda m: root.format(m[1], escape(label)), svg, count=1))


def _own_ids(svg: str, prefix: str) -> str:
    """Number the ids that are used and remove the others."""
    names = dict.fromkeys(_REFERENCE.findall(svg))
    new = {old: f"{prefix}-{i}" for i, old in enumerate(names)}

    def definition(match: re.Match[str]) -> str:
        return f' id="{new[match[1]]}"' if match[1] in new else ""

    svg = re.sub(r' id="([^"]*)"', definition, svg)
    return _REFERENCE.sub(lambda m: m[0].replace(m[1], new[m[1]]), svg)
