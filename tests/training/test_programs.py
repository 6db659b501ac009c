"""Compiled programs are forgotten before the process has too many regions."""

import numpy as np
import pytest

from betanll.networks import MLP
from betanll.objectives import MSE
from betanll.training import _loop, _programs, fit

X = np.linspace(-1, 1, 20)[:, None]


@pytest.fixture
def regions(tmp_path, monkeypatch):
    """A function that sets how many regions the process seems to have."""
    monkeypatch.setattr(_programs, "_FEW", 0)
    monkeypatch.setattr(_programs, "_REGIONS", tmp_path / "maps")
    return lambda n: (tmp_path / "maps").write_text("region\n" * n)


def n_programs_after_fits():
    for n_units in (3, 4, 5):
        fit(MLP(1, (n_units,)), MSE(), X, X, max_epochs=2)
    return _loop.run._cache_size()


def test_very_many_are_forgotten(regions):
    _loop.run.clear_cache()
    regions(40_000)
    assert n_programs_after_fits() == 3
    regions(40_001)
    assert n_programs_after_fits() == 1


def test_few_are_not_counted(regions, monkeypatch):
    monkeypatch.setattr(_programs, "_FEW", 10**6)
    regions(10**5)
    _loop.run.clear_cache()
    assert n_programs_after_fits() == 3


def test_systems_without_a_list_of_regions(regions):
    _loop.run.clear_cache()
    assert n_programs_after_fits() == 3
