import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from betanll.reports import style
from betanll.reports.style import format_number, linear_edges, log_edges, padded


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (0.5, "0.5"),
        (-2.0, "−2"),
        (0.12345, "0.1235"),
        (0.00012346, "0.0001235"),
        (99.999, "100"),
        (123456.0, "123,500"),
        (9999999.0, "10⁷"),
        (1.234e30, "1.234 × 10³⁰"),
        (-1.2e-30, "−1.2 × 10⁻³⁰"),
        (1e-30, "10⁻³⁰"),
        (float("nan"), "–"),
        (float("inf"), "∞"),
        (float("-inf"), "−∞"),
    ],
)
def test_four_significant_digits(value, text):
    assert format_number(value) == text
    assert format_number(np.float64(value)) == text


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("values", [[1.0, 1.0], [1.0, 1.0 + 1e-15], [1.0, 3.0]])
def test_edges_hold_all_values_at_any_scale(values, scale):
    values = scale * np.array(values)
    for edges in (linear_edges(values, 10), log_edges(values, 10)):
        assert len(edges) == 11
        assert np.all(np.diff(edges) > 0)
        assert np.histogram(values, edges)[0].sum() == 2
    low, high = padded(values, 0.05)
    assert low < values.min()
    assert high > values.max()


def test_edges_of_zeros():
    assert padded([0.0, 0.0], 0.05) == (-1, 1)
    assert np.histogram([0.0], linear_edges(np.zeros(3), 4))[0].sum() == 1


@pytest.mark.parametrize("high", [2.0, 50.0, 1e9])
def test_log_axis_has_a_few_plain_labels(high):
    ax = Figure().subplots()
    low = 0.5 if high == 2 else 1.0
    ax.set_xlim(low, high)
    style.use_log_scale(ax)
    ax.figure.draw_without_rendering()
    inside = [t for t in ax.get_xticks() if low <= t <= high]
    assert 1 <= len(inside) <= 7
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert not any("$" in label for label in labels)


def luminance(color):
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("color", [style.BLUE, style.ORANGE])
@pytest.mark.parametrize("surface", ["#ffffff", "#16191d"])
def test_colours_stand_out_on_both_surfaces(color, surface):
    dark, light = sorted([luminance(color), luminance(surface)])
    assert (light + 0.05) / (dark + 0.05) > 3.5


def test_style_overrides_that_of_the_user():
    import matplotlib

    with matplotlib.rc_context({"font.size": 40, "axes.facecolor": "red"}):
        with style.report_style():
            assert matplotlib.rcParams["font.size"] == 11
            assert matplotlib.rcParams["axes.facecolor"] == "white"
        assert matplotlib.rcParams["font.size"] == 40
