"""What fitted models show in a notebook, and what unfitted ones do."""

import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from betanll import HeteroscedasticRegressor
from betanll.diagnostics import calibration_svg
from betanll.estimators import from_state, to_state
from betanll.tables import TableModel


@pytest.fixture(scope="module")
def crossfitted(regressor, table):
    return regressor(refit=False, n_members=3, calibration="student-t").fit(*table)


def svg_of(html):
    """Return the one picture of a page, which has to be well-formed."""
    (picture,) = html.split("<figure>")[1:]
    return ET.fromstring(picture.split("<figcaption>")[0])


def test_unfitted_estimators_show_the_diagram_of_scikit_learn(regressor):
    html = regressor()._repr_html_()
    assert "sk-top-container" in html
    assert "<figure>" not in html
    assert "text/html" in regressor()._repr_mimebundle_()


def test_fitted_estimators_add_a_picture(crossfitted):
    html = crossfitted._repr_html_()
    assert "sk-top-container" in html
    assert "Coverage of intervals" in svg_of(html)[0].text
    assert crossfitted._repr_mimebundle_()["text/html"].count("<svg xmlns") == 1
    with config_context(display="text"):
        assert not hasattr(crossfitted, "_repr_html_")


def test_pipelines_keep_their_diagram(regressor, table):
    pipeline = make_pipeline(StandardScaler(), regressor(refit=False)).fit(*table)
    html = pipeline._repr_html_()
    assert "HeteroscedasticRegressor" in html
    assert "<figure>" not in html


def test_held_out_coverage_is_that_of_rows_not_seen(crossfitted, fitted):
    coverage = crossfitted.held_out_coverage_
    assert coverage.shape == (9, 1)
    assert np.all(np.diff(coverage[:, 0]) >= 0)
    # Of the rows that calibrated the spread, about half lie in 50 % intervals.
    assert abs(coverage[4, 0] - 0.5) < 0.3
    # A refit leaves no row unseen.
    assert fitted.held_out_coverage_ is None
    assert "<figure>" not in fitted._repr_html_()
    loaded = from_state(HeteroscedasticRegressor, *to_state(crossfitted))
    np.testing.assert_array_equal(loaded.held_out_coverage_, coverage)


def test_table_models_show_the_verdict():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60)})
    frame["<b>price"] = 3 + frame["a"] + 0.1 * rng.normal(size=60)
    settings = {"preset": "paper", "max_updates": 60, "hidden_layer_sizes": 4}
    model = TableModel.fit(frame, "<b>price", test_fraction=0.2, **settings)
    html = model._repr_html_()
    assert "&lt;b&gt;price from 1 column</b>" in html
    assert "Only 12 rows were held out" in html
    assert "12 held-out rows" in svg_of(html)[0].text
    loaded = TableModel(model.schema, model.regressor)
    assert "No held-out rows" in loaded._repr_html_()


def test_gaps_and_several_curves():
    picture = ET.fromstring(
        calibration_svg([0.5, 0.9], [[0.4, np.nan], [0.8, 0.9]], title="a & b")
    )
    lines = [part for part in picture if part.tag.endswith("polyline")]
    assert [line.get("points").count(",") for line in lines] == [2, 1]
