"""Limits of the size of models and tables."""

from __future__ import annotations

#: Units of a layer; JAX cannot count the parameters of some larger networks.
MAX_UNITS = 2**24
#: Hidden layers of a network; each one takes time to compile, thousands take hours.
MAX_LAYERS = 100
#: Networks of an ensemble.
MAX_MEMBERS = 10_000
