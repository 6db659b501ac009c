"""The methods under their names: an adapter, its settings and the packages it needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from benchmarks.quality import _adapters, _torch_adapters
from benchmarks.quality._adapters import Array, Prediction
from benchmarks.quality._names import check_name, require
from threadpoolctl import threadpool_limits

#: Of our regressor, what an adapter sets itself or what has no influence on a result.
_NOT_SETTINGS = frozenset({"n_jobs", "random_state", "verbose"})


@dataclass(frozen=True)
class Method:
    """A way to predict, as it takes part in the comparison.

    Parameters
    ----------
    adapter : callable
        One of those of ``_adapters`` and ``_torch_adapters``.
    given : mapping of str to value
        Settings by name, as JSON has them.
    packages : tuple of str
        What pip has to install.
    """

    adapter: Callable[..., Prediction]
    given: Mapping[str, Any] = field(default_factory=dict)
    packages: tuple[str, ...] = ("scikit-learn",)

    @property
    def is_ours(self) -> bool:
        return self.adapter is _adapters.betanll

    @cached_property
    def settings(self) -> str:
        """All settings as JSON: a method that is changed gets new results.

        What our defaults and presets mean today belongs to them.
        """
        values = dict(self.given)
        if self.is_ours:
            from betanll.estimators import PRESETS, HeteroscedasticRegressor

            every = HeteroscedasticRegressor(**values).get_params()
            values = {k: v for k, v in every.items() if k not in _NOT_SETTINGS}
            # No variant has any; the keys of stored results are older than these two.
            del values["network"], values["optimizer"]
            preset = dict(PRESETS[values["preset"]])
            # Under the name that the keys of stored results have.
            is_robust = preset.pop("robust_selection")
            preset["selection"] = "student-t" if is_robust else "nll"
            values["meaning_of_auto"] = preset
        return json.dumps(values, sort_keys=True)


#: Variants of our regressor: add a line, and it takes part.
VARIANTS: dict[str, dict[str, Any]] = {
    "betanll": {"preset": "default"},
    "betanll-fast": {"preset": "fast"},
    "betanll-best": {"preset": "best"},
    "betanll-paper": {"preset": "paper"},
}

METHODS: dict[str, Method] = {
    **{
        name: Method(_adapters.betanll, given, ("betanll",))
        for name, given in VARIANTS.items()
    },
    # The deviation over 200 trees is known to 5 %, and more take longer in proportion.
    "forest": Method(_adapters.forest, {"n_estimators": 200}),
    "catboost": Method(_adapters.catboost, packages=("catboost",)),
    "ngboost": Method(_adapters.ngboost, packages=("ngboost",)),
    "gp": Method(_adapters.gp, {"max_rows": 3000, "max_rows_of_kernel": 1000}),
    "skpro-mdn": Method(_torch_adapters.skpro_mdn, packages=("skpro", "torch")),
    "torch-ensemble": Method(
        _torch_adapters.torch_ensemble,
        {
            "n_members": 5,
            "n_hidden": 50,
            # Adam's own default, which lies amid the rates that the paper tries.
            "learning_rate": 1e-3,
            # So small that patience, in epochs, does not end before a network of a
            # table of 200 rows has learnt.
            "batch_size": 64,
            "max_updates": 50_000,
            "patience": 50,
            "validation_fraction": 0.2,
        },
        ("torch",),
    ),
    "bayesian-ridge": Method(_adapters.bayesian_ridge),
}


def get_method(name: str) -> Method:
    """Return the method, or say which there are."""
    check_name("method", name, METHODS)
    return METHODS[name]


def predict(
    name: str,
    X_train: Array,
    y_train: Array,
    X_test: Array,
    seed: int,
    *,
    settings: str | None = None,
) -> Prediction:
    """Fit a method to training rows and predict test rows, on one thread.

    Settings are those of the method unless others are given, as JSON.
    """
    method = get_method(name)
    require(f"method {name!r}", method.packages)
    values = json.loads(method.settings if settings is None else settings)
    # Workers have one thread anyway; this is for other processes.
    with threadpool_limits(limits=1):
        return method.adapter(X_train, y_train, X_test, seed, **values)
