"""A report with realistic numbers, and a reader of HTML documents."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from betanll.distributions import Normal
from betanll.metrics import evaluate
from betanll.reports import Finding, FitReport

VOID = {"meta", "link", "br", "hr", "img"}


class Document(HTMLParser):
    """Tags, attributes and visible text of a document, whose tags must match."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.texts.append(data.strip())

    @property
    def raw(self):
        return re.sub(r"[ \n]+", " ", " ".join(self.texts))

    @property
    def text(self):
        return re.sub(r"\s+", " ", self.raw)

    def all(self, name):
        return [attrs for tag, attrs in self.tags if tag == name]


@pytest.fixture(scope="session")
def parse():
    """The class that reads an HTML document and checks that its tags match."""
    return Document


@pytest.fixture(scope="session")
def make_report():
    """A function of the numbers of targets and rows and of fields to replace."""

    def make(d=1, n=400, *, scale=1.0, is_missing=False, **fields):
        rng = np.random.default_rng(0)
        mean = 2 * scale * rng.normal(size=(n, d))
        std = scale * np.exp(rng.normal(-1, 0.5, (n, d)))
        target = mean + std * rng.normal(size=(n, d))
        if is_missing:
            target[rng.random((n, d)) < 0.2] = np.nan
        predictive = Normal(mean, std)
        average = np.full((n, d), np.nanmean(target))
        baseline = Normal(average, np.full((n, d), np.nanstd(target)))
        epoch = np.arange(1, 101)
        curve = np.exp(-epoch / 20)
        defaults = {
            "title": "House prices",
            "target_names": [f"target {i}" for i in range(d)],
            "target": target,
            "predictive": predictive,
            "interval": predictive.interval(0.9),
            "scores": [
                {
                    "This model": evaluate(predictive[:, i], target[:, i]),
                    "Guess the average": evaluate(baseline[:, i], target[:, i]),
                }
                for i in range(d)
            ],
            "findings": [
                Finding("good", "Predictions are far better than guessing."),
                Finding("note", "Intervals are a little too wide."),
                Finding("warning", "Three rows are far off."),
            ],
            "history": {
                "epoch": epoch,
                "train_loss": 0.1 + curve,
                "validation_nll": 2 * curve - 0.5,
                "validation_mse": 0.1 + curve**2,
            },
            "sample_fractions": {"beta-nll, beta 0.5": 0.81, "nll": 0.4},
            "configuration": {"objective": "beta-nll", "file": "a-long-name" * 20},
            "command": "betanll fit houses.csv --target price " + "--flag " * 30,
        }
        return FitReport(**(defaults | fields))

    return make
