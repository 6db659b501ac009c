"""What a table model shows in a notebook: the verdict, and a calibration curve."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from betanll.diagnostics import calibration_curve, calibration_svg
from betanll.reports import findings_of

if TYPE_CHECKING:
    from betanll.evaluation import Assessment
    from betanll.tables._model import TableModel

_MARKS = {"good": "✓", "note": "note:", "warning": "WARNING:"}
_MAX_TARGETS = 6


def notebook_html(model: TableModel) -> str:
    """Return what the model predicts, how good it is, and where it is not."""
    schema = model.schema
    n_inputs = len(schema.encoder.columns)
    noun = "column" if n_inputs == 1 else "columns"
    heading = f"{', '.join(schema.targets)} from {n_inputs} {noun}"
    parts = [f"<p><b>betanll: {escape(heading)}</b></p>"]
    if model.assessment is None:
        parts.append("<p>No held-out rows: this model was loaded.</p>")
    else:
        parts += _verdict(model.assessment)
    return f"<div>{''.join(parts)}</div>"


def _verdict(assessment: Assessment) -> Iterator[str]:
    yield "<ul>"
    for finding in findings_of(assessment):
        yield f"<li>{_MARKS[finding.kind]} {escape(finding.text)}</li>"
    yield "</ul>"
    for i, target in enumerate(assessment.targets[:_MAX_TARGETS]):
        truth = assessment.target[:, i]
        seen = ~np.isnan(truth)
        if not seen.any():
            continue
        curve = calibration_curve(assessment.predictive[seen, i], truth[seen])
        title = f"{target.name}: coverage of intervals on {seen.sum()} held-out rows"
        picture = calibration_svg(*curve, title=title)
        yield f"<figure>{picture}<figcaption>{escape(title)}</figcaption></figure>"
