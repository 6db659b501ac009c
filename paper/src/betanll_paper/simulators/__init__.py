"""Simulators whose dynamics are learnt: ObjectSlide and the robot Fetch.

Importing this module registers ObjectSlide as an environment of Gymnasium::

    import gymnasium
    import betanll_paper.simulators

    env = gymnasium.make("betanll/ObjectSlide-v1")

Data that has been generated can be loaded without any simulator.
"""

from importlib.util import find_spec as _find_spec
from typing import Any as _Any

from betanll_paper.simulators.fetch_data import (
    FetchSummary,
    load_fetch,
    share_moving,
    summarize_fetch,
)
from betanll_paper.simulators.fetch_rollouts import generate_fetch
from betanll_paper.simulators.object_slide import OBJECT_SLIDE_STEPS as _STEPS
from betanll_paper.simulators.object_slide import (
    object_slide,
    object_slide_reset,
    object_slide_splits,
    object_slide_step,
)

__all__ = [
    "FetchSummary",
    "ObjectSlideEnv",
    "generate_fetch",
    "load_fetch",
    "object_slide",
    "object_slide_reset",
    "object_slide_splits",
    "object_slide_step",
    "share_moving",
    "summarize_fetch",
]

if _find_spec("gymnasium"):
    import gymnasium as _gymnasium

    from betanll_paper.simulators.object_slide_env import ObjectSlideEnv

    _gymnasium.register(
        "betanll/ObjectSlide-v1",
        entry_point="betanll_paper.simulators:ObjectSlideEnv",
        max_episode_steps=_STEPS,
    )


def __getattr__(name: str) -> _Any:
    if name == "ObjectSlideEnv":
        raise ImportError(
            'the environment needs Gymnasium: pip install "betanll-paper[dynamics]"'
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
