"""``betanll bench`` in a moment."""

import json

import pytest


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--network", "resnet"], "'resnet' is not one of"),
        (["--objectives", "--network", "uci", "--network", "fpp"], "one"),
    ],
)
def test_bad_usage_is_refused(refused, options, message):
    assert message in refused("bench", *options)


def test_a_table_and_json(run):
    options = ["bench", "--network", "uci", "--rounds", "1", "--seconds", "0.01"]
    assert "of matmul peak" in run(*options).out
    (row,) = json.loads(run(*options, "--json").out)
    assert list(row) == [
        "network",
        "ours_one_core_us",
        "ours_us",
        "torch_eager_us",
        "ratio",
        "matmul_fraction",
    ]
    assert row["network"] == "uci"
    assert 0 < row["ours_us"] < 1e6
    assert 0 < row["matmul_fraction"] < 1
    if row["torch_eager_us"] is not None:
        ratio = row["torch_eager_us"] / row["ours_us"]
        assert row["ratio"] == pytest.approx(ratio)
