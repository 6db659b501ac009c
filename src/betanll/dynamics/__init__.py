"""Simulators whose dynamics are learnt: ObjectSlide and the robot Fetch.

Importing this module registers ObjectSlide as an environment of Gymnasium::

    import gymnasium
    import betanll.dynamics

    env = gymnasium.make("betanll/ObjectSlide-v1")

Data that has been generated can be loaded without any simulator.
"""

from importlib.util import find_spec as _find_spec
from typing import Any as _Any

from betanll.datasets._object_slide import OBJECT_SLIDE_STEPS as _STEPS
from betanll.dynamics._fetch import generate_fetch
from betanll.dynamics._fetch_data import (
    FetchSummary,
    load_fetch,
    share_moving,
    summarize_fetch,
)

__all__ = [
    "FetchSummary",
    "ObjectSlideEnv",
    "generate_fetch",
    "load_fetch",
    "share_moving",
    "summarize_fetch",
]

if _find_spec("gymnasium"):
    import gymnasium as _gymnasium

    from betanll.dynamics._object_slide import ObjectSlideEnv

    _gymnasium.register(
        "betanll/ObjectSlide-v1",
        entry_point="betanll.dynamics:ObjectSlideEnv",
        max_episode_steps=_STEPS,
    )


def __getattr__(name: str) -> _Any:
    if name == "ObjectSlideEnv":
        raise ImportError(
            'the environment needs Gymnasium: pip install "betanll[dynamics]"'
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
