"""Saved models: the same bits come back, and what does not fit is refused."""

import json

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from betanll import HeteroscedasticRegressor
from betanll.estimators import ModelError
from betanll.estimators._model_folder import read_model, write_model
from betanll.objectives import OBJECTIVES, BetaNLL, GaussianNLL, objective
from betanll_paper.autoencoders import VAE


def everything(model, images):
    return [
        *model.encode(images),
        *model.reconstruct(images),
        model.score_samples(images),
        model.sample(2, noise=True, random_state=0),
        model.sample_posterior(images, random_state=0),
        model.mean_image_,
        *(model.history_[name] for name in sorted(model.history_)),
    ]


@pytest.mark.parametrize("name", [*OBJECTIVES, BetaNLL((1.0, 0.25), max_variance=9.0)])
def test_saved_model_predicts_the_same_bits(name, untrained, images, tmp_path):
    model = untrained(name)
    model.save(tmp_path / "model")
    found = [path.suffix for path in (tmp_path / "model").iterdir()]
    assert sorted(found) == [".json", ".safetensors"]
    again = VAE.load(tmp_path / "model")
    for found, expected in zip(
        everything(again, images), everything(model, images), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    assert again.get_params() == model.get_params()
    assert again.objective_ == model.objective_
    assert again.net_ == model.net_


def test_trained_model_round_trip(fitted, bars, tmp_path):
    fitted.save(tmp_path / "model")
    again = VAE.load(tmp_path / "model")
    for found, expected in zip(
        everything(again, bars[:20]), everything(fitted, bars[:20]), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    for name in ("n_iter_", "best_iter_", "collapse_ratio_", "is_collapsed_"):
        assert getattr(again, name) == getattr(fitted, name)


def test_saving_again_replaces(untrained, images, tmp_path):
    untrained(seed=0).save(tmp_path / "model")
    other = untrained(seed=1)
    other.save(tmp_path / "model")
    found = VAE.load(tmp_path / "model").encode(images)
    np.testing.assert_array_equal(found, other.encode(images))


def test_unfitted_and_unnamed_models_are_not_saved(untrained, tmp_path):
    with pytest.raises(NotFittedError):
        VAE().save(tmp_path / "model")

    @objective(None)
    class Mine(GaussianNLL):
        pass

    with pytest.raises(ValueError, match="Mine cannot be saved without a name"):
        untrained(Mine()).save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["model", "weights"])
def test_damage_is_refused(kind, untrained, tmp_path):
    untrained().save(tmp_path / "model")
    file = next((tmp_path / "model").glob(f"{kind}*"))
    content = file.read_bytes()
    middle = len(content) // 2
    for damaged in (
        content[:-1],
        content[:middle],
        b"",
        content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
    ):
        file.write_bytes(damaged)
        with pytest.raises(ModelError, match=file.name):
            VAE.load(tmp_path / "model")


def test_other_models_are_refused(untrained, tmp_path):
    untrained().save(tmp_path / "vae")
    with pytest.raises(ModelError, match="is a VAE, not a HeteroscedasticRegressor"):
        HeteroscedasticRegressor.load(tmp_path / "vae")
    write_model(tmp_path / "other", {"kind": "HeteroscedasticRegressor"}, {})
    with pytest.raises(ModelError, match="is a HeteroscedasticRegressor, not a VAE"):
        VAE.load(tmp_path / "other")
    with pytest.raises(ModelError, match="does not exist"):
        VAE.load(tmp_path / "nowhere")


def without(name):
    def change(configuration, arrays):
        del (arrays if name in arrays else configuration)[name]

    return change


def with_array(name, array):
    return lambda configuration, arrays: arrays.update({name: array})


def with_entry(*path):
    *parents, name, value = path

    def change(configuration, arrays):
        for parent in parents:
            configuration = configuration[parent]
        configuration[name] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("encoder.0.weight"), "lacks the array 'encoder.0.weight'"),
        (without("net"), "does not describe an estimator"),
        (with_array("extra", np.zeros(2)), "no use for the array 'extra'"),
        (
            with_array("mean_image", np.zeros(6)),
            r"'mean_image' must be float64 of shape \(2, 3\)",
        ),
        (
            with_array("decoder.2.bias", np.full((12, 1), np.nan, np.float32)),
            "'decoder.2.bias' has values that no model has",
        ),
        (with_entry("net", "n_latent", 3), "'encoder.2.bias' must be float32"),
        (with_entry("net", "hidden_sizes", [5]), "must be float32"),
        (with_entry("net", "other", 1), "Autoencoder must have the fields"),
        (with_entry("image_shape", [7]), r"shape \(7,\) do not have 6 pixels"),
        (with_entry("image_shape", []), "do not have 6 pixels"),
        (with_entry("image_shape", [-2, -3]), "do not have 6 pixels"),
        (with_entry("objective", "class", "os.system"), "unknown objective"),
        (with_entry("parameters", "unknown", 1), "does not describe an estimator"),
        (with_entry("collapse_ratio", "high"), "collapse_ratio must be a number"),
    ],
)
def test_inconsistent_models_are_refused(change, message, untrained, tmp_path):
    # Written anew, so that its checksums are right.
    untrained().save(tmp_path / "model")
    configuration, arrays = read_model(tmp_path / "model")
    change(configuration, arrays)
    write_model(tmp_path / "model", configuration, arrays)
    with pytest.raises(ModelError, match=message) as caught:
        VAE.load(tmp_path / "model")
    assert "\n" not in str(caught.value)


def test_configuration_is_readable_json(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    document = json.loads((tmp_path / "model" / "model.json").read_text())
    configuration = document["configuration"]
    assert configuration["kind"] == "VAE"
    assert configuration["image_shape"] == [6, 4]
    assert configuration["net"]["n_latent"] == 2
    assert configuration["objective"]["fields"]["beta"] == 0.5
