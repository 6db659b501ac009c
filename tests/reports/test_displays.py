import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import LinearRegression

from betanll.diagnostics import calibration_curve
from betanll.distributions import Normal, StudentT
from betanll.reports import CalibrationDisplay, IntervalDisplay, ResidualDisplay

DISPLAYS = [CalibrationDisplay, IntervalDisplay, ResidualDisplay]
UNCERTAIN = [CalibrationDisplay, IntervalDisplay]


def axes():
    return Figure().subplots()


def data(shape=200, seed=0):
    """Truth, means and standard deviations of a calibrated model."""
    rng = np.random.default_rng(seed)
    mean, std = rng.normal(size=shape), rng.uniform(0.1, 1, shape)
    return mean + std * rng.normal(size=shape), mean, std


def legend_texts(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def drawn(display):
    """All coordinates that a display has drawn."""
    lines = [line.get_xydata() for line in display.ax_.lines]
    bars = [[(p.get_x(), p.get_height())] for p in display.ax_.patches]
    return np.concatenate([*lines, *bars])


# What all have in common


@pytest.mark.parametrize("display", DISPLAYS)
def test_means_and_deviations_are_a_gaussian(display):
    y, mean, std = data()
    from_arrays = display.from_predictions(y, mean, y_std=std, ax=axes())
    from_normal = display.from_predictions(y, Normal(mean, std), ax=axes())
    np.testing.assert_array_equal(drawn(from_arrays), drawn(from_normal))


@pytest.mark.parametrize("display", DISPLAYS)
def test_target_selects_a_column_and_missing_rows_are_left_out(display):
    y, mean, std = data((200, 3))
    y[:50, 1] = np.nan
    expected = display.from_predictions(
        y[50:, 1], Normal(mean[50:, 1], std[50:, 1]), ax=axes()
    )
    for target in (1, -2):
        got = display.from_predictions(y, Normal(mean, std), ax=axes(), target=target)
        np.testing.assert_array_equal(drawn(got), drawn(expected))
    # a column of truth against a vector of predictions is no broadcast
    column = display.from_predictions(
        y[50:, 1:2], Normal(mean[50:, 1], std[50:, 1]), ax=axes()
    )
    np.testing.assert_array_equal(drawn(column), drawn(expected))


@pytest.mark.parametrize("display", DISPLAYS)
def test_wrong_shapes_raise(display):
    y, mean, std = data((20, 2))
    with pytest.raises(ValueError, match=r"\(20,\) but the prediction has.*\(20, 2\)"):
        display.from_predictions(y[:, 0], Normal(mean, std), ax=axes())
    with pytest.raises(ValueError, match=r"\(19, 2\) but"):
        display.from_predictions(y[1:], Normal(mean, std), ax=axes())
    with pytest.raises(ValueError, match="one or two axes"):
        display.from_predictions(y[..., None], Normal(mean, std), ax=axes())
    with pytest.raises(IndexError, match="no target 2 among 2"):
        display.from_predictions(y, Normal(mean, std), ax=axes(), target=2)
    with pytest.raises(ValueError, match="target 0 has no observed value"):
        display.from_predictions(np.full_like(y, np.nan), Normal(mean, std), ax=axes())


@pytest.mark.parametrize("display", DISPLAYS)
def test_estimator_with_predict_dist_is_asked_for_it(display):
    y, mean, std = data()

    class Regressor:
        def predict_dist(self, X):
            return StudentT(np.full(200, 5.0), X, std)

        def predict(self, X):
            return X

    got = display.from_estimator(Regressor(), mean, y, ax=axes())
    predictive = StudentT(np.full(200, 5.0), mean, std)
    expected = display.from_predictions(y, predictive, ax=axes())
    np.testing.assert_array_equal(drawn(got), drawn(expected))
    assert got.name == "Regressor"
    assert display.from_estimator(Regressor(), mean, y, ax=axes(), name="A").name == "A"


@pytest.mark.parametrize("display", DISPLAYS)
def test_estimator_of_scikit_learn(display):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(30, 1))
    y = X[:, 0] + 0.1 * rng.normal(size=30)
    process = GaussianProcessRegressor(alpha=0.01, optimizer=None).fit(X, y)
    X_new = X + 0.01
    mean, std = process.predict(X_new, return_std=True)
    got = display.from_estimator(process, X_new, y, ax=axes())
    expected = display.from_predictions(y, mean, y_std=std, ax=axes())
    np.testing.assert_array_equal(drawn(got), drawn(expected))


def test_estimator_without_uncertainty():
    X, y = np.arange(10.0)[:, None], np.arange(10.0) ** 2
    model = LinearRegression().fit(X, y)
    for display in UNCERTAIN:
        with pytest.raises(TypeError, match="LinearRegression gives no uncertainty"):
            display.from_estimator(model, X, y, ax=axes())
    assert ResidualDisplay.from_estimator(model, X, y, ax=axes()).rmse > 0


@pytest.mark.parametrize("display", UNCERTAIN)
def test_deviations_go_with_means_only(display):
    y, mean, std = data()
    with pytest.raises(ValueError, match="y_std is needed"):
        display.from_predictions(y, mean, ax=axes())
    with pytest.raises(ValueError, match="y_std must not be given"):
        display.from_predictions(y, Normal(mean, std), y_std=std, ax=axes())


@pytest.mark.parametrize("display", DISPLAYS)
def test_without_axes_a_figure_of_pyplot_is_made(display):
    y, mean, std = data()
    shown = display.from_predictions(y, mean, y_std=std)
    try:
        assert pyplot.gcf() is shown.figure_
        assert shown.ax_ in shown.figure_.axes
    finally:
        pyplot.close(shown.figure_)
    # and none where axes are given, also in a subfigure
    figure = Figure()
    shown.plot(figure.subfigures(1, 2)[0].subplots())
    assert shown.figure_ is figure
    assert not pyplot.get_fignums()


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_dollar_sign_is_text(display):
    y, mean, std = data()
    shown = display.from_predictions(y, mean, y_std=std, name=r"$\nonsense$", ax=axes())
    shown.figure_.draw_without_rendering()


# Calibration


def test_calibration_shows_the_curve_and_the_band():
    y, mean, std = data(1000)
    shown = CalibrationDisplay.from_predictions(y, mean, y_std=std, ax=axes(), name="A")
    levels, fractions = calibration_curve(Normal(mean, std), y)
    np.testing.assert_array_equal(shown.line_.get_xdata(), levels)
    np.testing.assert_array_equal(shown.line_.get_ydata(), fractions)
    assert legend_texts(shown) == ["ideal", "chance", "A"]
    # With n = 1000 at one half the band is about 1.645 * 0.0158 wide on either side, up
    # to the steps of the binomial and of the grid.
    vertices = shown.band_.get_paths()[0].vertices
    middle = vertices[np.isclose(vertices[:, 0], 0.5, atol=0.006), 1]
    np.testing.assert_allclose([middle.min(), middle.max()], [0.474, 0.526], atol=0.007)


def test_calibration_with_levels_and_without_band():
    y, mean, std = data()
    shown = CalibrationDisplay.from_predictions(
        y, mean, y_std=std, ax=axes(), levels=[0.5, 0.9], band=False, color="red"
    )
    assert shown.line_.get_xdata().tolist() == [0.5, 0.9]
    assert shown.line_.get_color() == "red"
    assert shown.band_ is None


# Intervals


def test_points_outside_are_marked():
    shown = IntervalDisplay(
        y_true=[0.0, 1.0, 5.0], y_pred=[0.0, 0.5, 0.0], interval=[[-1, 1]] * 3
    ).plot(axes())
    assert shown.coverage == pytest.approx(2 / 3)
    assert sorted(shown.inside_.get_xdata()) == [0.0, 1.0]
    assert shown.outside_.get_xydata().tolist() == [[5.0, 0.0]]
    assert shown.inside_.get_marker() != shown.outside_.get_marker()
    assert legend_texts(shown) == ["66.7% inside", "33.3% outside"]
    assert shown.ax_.get_legend().get_title().get_text() == "90% intervals"


def test_points_in_the_order_of_the_prediction():
    shown = IntervalDisplay(
        y_true=[1.0, 2.0, 3.0],
        y_pred=[30.0, 10.0, 20.0],
        interval=[[-50, 50]] * 3,
        name="A",
    ).plot(axes(), kind="sorted")
    assert shown.inside_.get_xydata().tolist() == [[0, 2], [1, 3], [2, 1]]
    assert shown.ax_.get_legend().get_title().get_text() == "A, 90% intervals"
    with pytest.raises(ValueError, match="kind must be 'truth' or 'sorted', got 'x'"):
        shown.plot(axes(), kind="x")


def test_many_points_are_thinned_but_all_are_counted():
    y, mean, std = data(5000)
    shown = IntervalDisplay.from_predictions(y, mean, y_std=std, ax=axes())
    n_drawn = len(shown.inside_.get_xdata()) + len(shown.outside_.get_xdata())
    assert n_drawn == 300
    bounds = Normal(mean, std).interval(0.9)
    expected = np.mean((bounds[:, 0] <= y) & (y <= bounds[:, 1]))
    assert shown.coverage == pytest.approx(expected)
    # the same points each time
    again = IntervalDisplay.from_predictions(y, mean, y_std=std, ax=axes())
    np.testing.assert_array_equal(drawn(shown), drawn(again))
    assert (
        len(
            IntervalDisplay.from_predictions(
                y, mean, y_std=std, ax=axes(), max_points=5
            ).bars_.get_xdata()
        )
        == 15
    )


@pytest.mark.parametrize("kind", ["truth", "sorted"])
def test_infinite_and_overlong_bars_leave_the_view(kind):
    y, mean, _ = data()
    interval = np.stack([mean - 1, mean + 1], axis=1)
    interval[0] = -np.inf, np.inf
    interval[1] = -1e9, 1e9
    shown = IntervalDisplay(y_true=y, y_pred=mean, interval=interval).plot(
        axes(), kind=kind
    )
    low, high = shown.ax_.get_ylim()
    assert low < min(y.min(), mean.min())
    assert max(y.max(), mean.max()) < high < 10
    ends = shown.bars_.get_ydata()
    assert np.nanmax(ends) > high
    assert np.isfinite(ends[~np.isnan(ends)]).all()
    shown.figure_.draw_without_rendering()


# Residuals


def test_residuals_by_hand():
    shown = ResidualDisplay.from_predictions(
        [0.0, 10.0, 5.0], [0.01, 9.0, 5.0], ax=axes(), bins=2
    )
    assert [bar.get_height() for bar in shown.bars_] == [1, 1]
    assert shown.ax_.get_xscale() == "log"
    rmse = np.sqrt((0.01**2 + 1) / 3)
    assert shown.rmse == pytest.approx(rmse)
    np.testing.assert_allclose(shown.rmse_line_.get_xdata(), rmse)
    assert shown.rmse_line_.get_linestyle() == "--"
    assert legend_texts(shown) == ["RMSE 0.5774", "1 without error"]


def test_residuals_that_are_all_zero_or_equal():
    shown = ResidualDisplay.from_predictions([1.0, 2.0], [1.0, 2.0], ax=axes())
    assert shown.bars_ is None
    assert shown.rmse_line_ is None
    assert shown.ax_.texts[0].get_text() == "all errors are zero"
    for size in (1e-30, 1.0, 1e30, 1e-200):
        shown = ResidualDisplay.from_predictions([size, 0.0], [0.0, size], ax=axes())
        assert sum(bar.get_height() for bar in shown.bars_) == 2
        shown.figure_.draw_without_rendering()


def test_two_residual_displays_share_axes():
    ax = axes()
    for factor in (1, 100):
        y, mean, _ = data()
        ResidualDisplay.from_predictions(factor * y, factor * mean, ax=ax)
    low, high = ax.get_xlim()
    assert low < 1e-2
    assert high > 100
