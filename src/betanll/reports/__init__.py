"""Figures of results, and a report of a fit as one HTML file."""

from betanll.reports._assessment import report_of
from betanll.reports._calibration import CalibrationDisplay
from betanll.reports._diagnosis import render_diagnosis
from betanll.reports._findings import findings_of
from betanll.reports._intervals import IntervalDisplay
from betanll.reports._render import render_report
from betanll.reports._report import FitReport, Panel
from betanll.reports._residuals import ResidualDisplay
from betanll.reports._sine import sine_figure
from betanll.reports.page import (
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
    "Panel",
    "Picture",
    "ResidualDisplay",
    "Table",
    "Text",
    "findings_of",
    "render_diagnosis",
    "render_report",
    "report_of",
    "sine_figure",
]
