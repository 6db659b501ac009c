"""The pages of dynamics models."""

import pytest

from betanll_paper.dynamics.tables import table_files


@pytest.mark.parametrize(
    ("preset", "present", "absent"),
    [
        ("laptop", "✓ agrees", "too short"),
        ("smoke", "– too short to judge", "agree"),
    ],
)
def test_only_runs_with_a_meaning_are_judged(preset, present, absent):
    rows = [
        {"kind": "final", "dataset": "object-slide", "method": "beta-nll", "beta": 0.5}
        | {"seed": seed, "rmse": 0.0064 + 0.001 * seed, "log_likelihood": 9.0 + seed}
        for seed in (0, 1)
    ]
    page = table_files("table2", rows, preset)["table2.md"].decode()
    assert "simulated anew" in page
    assert present in page
    assert absent not in page
