"""Data frames as they are: texts, dates, booleans, missing cells."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

from betanll import HeteroscedasticRegressor
from betanll.columns import TableError

RNG = np.random.default_rng(0)
QUICK = {"preset": "fast", "hidden_layer_sizes": 16, "max_updates": 600}


def penguins(n=120):
    """A table with every kind of column; the target depends on all but the name."""
    frame = pd.DataFrame(
        {
            "bill": RNG.normal(40, 5, n),
            "island": RNG.choice(["Biscoe", "Dream", "Torgersen"], n),
            "ringed": RNG.choice([True, False], n),
            "day": pd.date_range("2007-11-01", periods=n, freq="D"),
            "name": [f"penguin {i}" for i in range(n)],
        }
    )
    y = 50 * frame.bill + 300 * (frame.island == "Dream") + 100 * frame.ringed
    y += 2 * np.arange(n) + RNG.normal(0, 30, n)
    frame.loc[::9, "bill"] = np.nan
    frame.loc[::11, "island"] = None
    return frame, y.to_numpy()


@pytest.fixture(scope="module")
def table():
    return penguins()


@pytest.fixture(scope="module")
def model(table):
    return HeteroscedasticRegressor(random_state=0, **QUICK).fit(*table)


def test_every_kind_of_column_is_used(table, model):
    frame, y = table
    assert model.n_features_in_ == 5
    assert list(model.feature_names_in_) == list(frame)
    assert [column.kind for column in model.encoder_.columns] == [
        *("number", "category", "boolean", "date", "ignored")
    ]
    assert model.encode(frame).shape == (120, model.net_.n_inputs)
    assert np.std(model.predict(frame) - y) < 0.5 * np.std(y)
    for name, value in {"island": "Dream", "ringed": True, "bill": 60.0}.items():
        changed = frame.assign(**{name: value})
        assert np.max(np.abs(model.predict(changed) - model.predict(frame))) > 10


@pytest.mark.parametrize("module", ["polars", "pyarrow"])
def test_frames_of_other_libraries_give_the_same_bits(table, model, module):
    library = pytest.importorskip(module)
    frame, y = table
    columns = {
        name: [None if pd.isna(cell) else cell for cell in frame[name]]
        for name in frame
    }
    make = library.DataFrame if module == "polars" else library.table
    other = make(columns)
    again = HeteroscedasticRegressor(random_state=0, **QUICK).fit(other, y)
    np.testing.assert_array_equal(again.predict(other), model.predict(frame))


def test_saved_and_loaded(table, model, tmp_path):
    frame, _ = table
    model.save(tmp_path / "model")
    loaded = HeteroscedasticRegressor.load(tmp_path / "model")
    assert loaded.encoder_ == model.encoder_
    assert loaded.n_features_in_ == 5
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))


def test_columns_that_changed(table, model):
    frame, _ = table
    with pytest.raises(TableError, match=r"X lacks the columns 'bill', 'name'$"):
        model.predict(frame.drop(columns=["bill", "name"]))
    sentence = "X lacks the column 'bill', and has 'beak', unseen in training"
    with pytest.raises(TableError, match=sentence):
        model.predict(frame.rename(columns={"bill": "beak"}))
    with pytest.raises(ValueError, match=r"(?s)names unseen at fit time.*beak"):
        model.predict(frame.assign(beak=1.0))
    # Columns match by name.
    other = model.predict(frame[frame.columns[::-1]])
    np.testing.assert_array_equal(other, model.predict(frame))
    with pytest.raises(TableError, match="column 'bill', row 1: 'long' is not a numb"):
        model.predict(frame.assign(bill="long"))
    with pytest.raises(TableError, match="column 'day', row 1: 'soon' is not a date"):
        model.predict(frame.assign(day="soon"))
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.predict(frame[:0])


def test_kinds_can_be_chosen(table):
    frame, y = table
    kinds = {"ringed": "ignored", "day": "category"}
    model = HeteroscedasticRegressor(columns=kinds, random_state=0, **QUICK)
    assert clone(model).columns == kinds
    model.fit(frame, y)
    assert [column.kind for column in model.encoder_.columns][2:4] == [
        *("ignored", "category")
    ]
    with pytest.raises(TableError, match="there is no column 'beak'"):
        clone(model).set_params(columns={"beak": "number"}).fit(frame, y)
    with pytest.raises(ValueError, match="columns is for data frames"):
        clone(model).fit(np.ones((20, 2)), np.arange(20.0))


def test_missing_cells_of_arrays():
    X = RNG.normal(size=(100, 2))
    y = X[:, 0] + 3 * np.isnan(np.where(X[:, 1] > 0.5, np.nan, 0))
    X[X[:, 1] > 0.5, 1] = np.nan
    model = HeteroscedasticRegressor(random_state=0, **QUICK).fit(X, y)
    assert model.n_features_in_ == 2
    assert model.encoder_.encoded_names == ("x0", "x1", "x1 is missing")
    assert not hasattr(model, "feature_names_in_")
    jump = model.predict([[0.0, np.nan]]) - model.predict([[0.0, 0.4]])
    assert jump[0] > 1


@pytest.mark.parametrize("n_bins", [0, 8])
def test_cells_that_are_newly_missing(n_bins):
    X = RNG.normal(size=(60, 2))
    model = HeteroscedasticRegressor(n_bins=n_bins, random_state=0, **QUICK)
    model.fit(X, X[:, 0])
    with pytest.warns(UserWarning, match="X has 1 missing cells, but the training"):
        mean = model.predict([[np.nan, 0.0]])
    assert abs(mean[0]) < 0.7


def test_statistics_of_targets_are_learned_in_each_fold():
    """Otherwise, held-out rows would be predicted too well: cities mean nothing."""
    n = 400
    frame = pd.DataFrame({"city": RNG.permutation([f"c{i % 80}" for i in range(n)])})
    y = RNG.normal(size=n)
    model = HeteroscedasticRegressor(random_state=0, **QUICK)
    mean = cross_val_predict(model, frame, y, cv=4)
    assert np.corrcoef(mean, y)[0, 1] < 0.15
    fitted = clone(model).fit(frame, y)
    # Neither has training overlooked that a row does not see itself.
    assert fitted.score(frame, y) < 0.35


@pytest.mark.torch
def test_a_torch_module_takes_encoded_inputs(table, model):
    torch = pytest.importorskip("torch")
    frame, _ = table
    with torch.no_grad():
        mean, _ = model.to_torch()(torch.tensor(model.encode(frame)).float())
    np.testing.assert_allclose(mean.numpy(), model.predict(frame), rtol=1e-3, atol=1)


def test_columns_whose_names_are_numbers():
    X = pd.DataFrame(RNG.normal(size=(60, 2)))
    y = X[0].to_numpy()
    model = HeteroscedasticRegressor(random_state=0, **QUICK).fit(X, y)
    expected = model.predict(X)
    np.testing.assert_array_equal(model.predict(X.to_numpy()), expected)
    with pytest.raises(TableError, match="X lacks the columns '0', '1', and has '5'"):
        model.predict(X.set_axis([5, 6], axis=1))
    with pytest.raises(TableError, match="the name '0' is shared by several columns"):
        model.predict(X.set_axis([0, 0], axis=1))
    # Columns of a model of an array with missing cells match by place.
    gaps = X.to_numpy().copy()
    gaps[::7, 1] = np.nan
    model.fit(gaps, y)
    named = pd.DataFrame(gaps, columns=["a", "b"])
    np.testing.assert_array_equal(model.predict(named), model.predict(gaps))


def test_tables_that_are_refused():
    y = np.arange(20.0)
    X = pd.DataFrame({"a": y})
    model = HeteroscedasticRegressor(**QUICK)
    with pytest.raises(TableError, match="got a Series, a single column: make it a"):
        model.fit(X["a"], y)
    with pytest.raises(TableError, match="kinds of columns must be a mapping"):
        model.set_params(columns=["a"]).fit(X, y)


def test_targets_may_be_a_column_of_a_table(regressor):
    """A single column is no table of inputs, but the usual form of targets."""
    frame = pd.DataFrame({"a": np.linspace(-1, 1, 40), "y": np.linspace(0, 1, 40)})
    expected = regressor().fit(frame[["a"]], frame.y.to_numpy()).predict(frame[["a"]])
    polars = pytest.importorskip("polars")
    for y in (frame.y, polars.Series(frame.y.to_numpy())):
        found = regressor().fit(frame[["a"]], y).predict(frame[["a"]])
        np.testing.assert_array_equal(found, expected)
