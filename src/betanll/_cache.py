"""Compiled programs in the user's cache."""

from __future__ import annotations

import os

from betanll.files import cache_folder


def compilation_cache() -> dict[str, str]:
    """Return settings by which JAX keeps programs, none if the user has chosen some.

    Environment variables, for processes that have not imported JAX yet: a library does
    not change the settings of its host.
    """
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return {}
    return {
        "JAX_COMPILATION_CACHE_DIR": str(cache_folder("jax")),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.3",
    }
