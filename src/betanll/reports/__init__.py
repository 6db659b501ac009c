"""Figures of results, and a report of a fit as one HTML file."""

from betanll.reports._calibration import CalibrationDisplay
from betanll.reports._diagnosis import diagnosis_page
from betanll.reports._explained_rows import reason_of
from betanll.reports._explanation import explanation_page
from betanll.reports._figures import sine_figure
from betanll.reports._findings import findings_of
from betanll.reports._intervals import IntervalDisplay
from betanll.reports._report import FitReport, report_of
from betanll.reports._residuals import ResidualDisplay
from betanll.reports.page import (
    Block,
    Card,
    Cell,
    Code,
    Column,
    Finding,
    Heading,
    Page,
    Picture,
    Table,
    Text,
)

__all__ = [
    "Block",
    "CalibrationDisplay",
    "Card",
    "Cell",
    "Code",
    "Column",
    "Finding",
    "FitReport",
    "Heading",
    "IntervalDisplay",
    "Page",
    "Picture",
    "ResidualDisplay",
    "Table",
    "Text",
    "diagnosis_page",
    "explanation_page",
    "findings_of",
    "reason_of",
    "report_of",
    "sine_figure",
]
