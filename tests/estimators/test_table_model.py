import numpy as np
import pandas as pd
import pytest

from betanll import HeteroscedasticRegressor
from betanll.estimators import ModelError
from betanll.estimators._model_folder import read_model, write_model
from betanll.tables import TableModel, TableSchema
from betanll.training import _predict


def rows(n=40):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.normal(size=n),
            "name": [f"{i:03d}" for i in range(n)],
            "y": rng.normal(size=n),
        }
    )


@pytest.fixture
def build(untrained):
    """A function that returns a model of the rows with random weights."""

    def make(*, targets=("y",), **options):
        schema = TableSchema.infer(rows(), targets=["y"], ids=["name"])
        schema = TableSchema(tuple(targets), schema.encoder, schema.ids)
        regressor = untrained(n_outputs=len(targets), **options)
        regressor.encoder_ = schema.encoder
        regressor.feature_names_in_ = np.array(["a", "b"], object)
        return TableModel(schema, regressor)

    return make


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_members": 2},
        {"n_scores": 30},
        {"is_spread": True},
        {"targets": ("y", "z")},
        {"objective": "student-t"},
    ],
)
def test_prediction_is_that_of_the_regressor(build, options):
    model, frame = build(**options), rows()
    table = model.predict(frame, coverage=0.8)
    X = frame[["a", "b"]]
    mean, std = model.regressor.predict(X, return_std=True)
    interval = model.regressor.predict_interval(X, 0.8)
    names = model.schema.targets
    parts = ("mean", "std", "lower", "upper")
    assert list(table) == ["name", *(f"{t}_{part}" for t in names for part in parts)]
    assert list(table["name"]) == list(frame["name"])
    for i, name in enumerate(names):
        expected = np.column_stack([mean[:, i], std[:, i], interval[:, :, i]])
        found = table[[f"{name}_{part}" for part in parts]]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"n_members": 2}, {"n_scores": 30}])
def test_rows_have_the_same_bits_in_any_company(build, options):
    model = build(hidden_sizes=(50, 50), **options)
    frame = rows(300)
    whole = model.predict(frame)
    for size in (1, 7, 256):
        firsts = range(0, 300, size)[:4]
        parts = [model.predict(frame[first : first + size]) for first in firsts]
        some = pd.concat(parts)
        pd.testing.assert_frame_equal(some, whole[: len(some)], check_exact=True)


def test_rows_have_the_same_bits_among_many(build):
    model = build(hidden_sizes=(50, 50), objective="student-t")
    frame = rows(17_000)  # more than one pass
    whole = model.predict(frame)
    for first, n in ((0, 1), (255, 2), (16_383, 2), (16_990, 10), (900, 3000)):
        some = model.predict(frame[first : first + n])
        pd.testing.assert_frame_equal(some, whole[first : first + n], check_exact=True)


def test_few_rows_are_little_work(build, monkeypatch):
    sizes = []
    forward = _predict.predict_in_blocks

    def counted(net, objective, params, inputs):
        sizes.append(len(inputs))
        return forward(net, objective, params, inputs)

    monkeypatch.setattr(_predict, "predict_in_blocks", counted)
    for n in (1, 256, 257):
        build(n_scores=30).predict(rows(n))
    assert sizes == [256, 256, 1024]


@pytest.mark.parametrize("options", [{}, {"n_scores": 30}])
def test_coverage_must_be_a_share(build, options):
    for wrong in (0, 1, -0.5, np.nan):
        with pytest.raises(ValueError, match=r"coverage must lie in \(0, 1\), got"):
            build(**options).predict(rows(), coverage=wrong)


def test_index_is_kept(build):
    frame = rows().set_index(np.arange(40) + 1000)
    assert list(build().predict(frame).index) == list(frame.index)


def test_round_trip(build, tmp_path):
    model, frame = build(n_members=2, n_scores=30), rows()
    model.save(tmp_path / "model")
    loaded = TableModel.load(tmp_path / "model")
    assert loaded.schema == model.schema
    pd.testing.assert_frame_equal(
        loaded.predict(frame), model.predict(frame), check_exact=True
    )
    # the regressor alone
    X = frame[["a", "b"]]
    alone = HeteroscedasticRegressor.load(tmp_path / "model")
    np.testing.assert_array_equal(alone.predict(X), model.regressor.predict(X))


def test_folder_of_fit_is_loaded(build, tmp_path):
    model = build()
    model.save(tmp_path / "out" / "model")
    (tmp_path / "out" / "report.html").write_text("")
    for path in (tmp_path / "out" / "model", tmp_path / "out", str(tmp_path / "out")):
        assert TableModel.load(path).schema == model.schema
    # A model that happens to contain a folder of that name
    model.save(tmp_path / "plain")
    (tmp_path / "plain" / "model").mkdir()
    assert TableModel.load(tmp_path / "plain").schema == model.schema
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match=r"empty is not a model folder: it lacks mod"):
        TableModel.load(tmp_path / "empty")


def test_schema_and_regressor_must_fit(build, untrained):
    schema = build().schema
    with pytest.raises(ValueError, match="the schema has 1 targets, the regressor 2"):
        TableModel(schema, untrained(n_outputs=2))
    for options in ({}, {"is_vector": True}):
        with pytest.raises(ValueError, match="a data frame and a matrix of targets"):
            TableModel(schema, untrained(**options))


def test_damage_names_the_folder(build, tmp_path):
    path = tmp_path / "model"
    build().save(path)
    configuration, arrays = read_model(path)
    write_model(path, {**configuration, "table": {"targets": []}}, arrays)
    with pytest.raises(ModelError, match=r"model is damaged: the table schema must ha"):
        TableModel.load(path)
    write_model(path, configuration, {})
    with pytest.raises(
        ModelError, match=r"model is damaged: the model lacks the array"
    ):
        TableModel.load(path)
    build().regressor.save(path)
    with pytest.raises(ModelError, match="is a model without a table"):
        TableModel.load(path)
