"""The simulators behind the dynamics models, as Gymnasium environments.

Importing this module registers them::

    import gymnasium
    import betanll.dynamics

    env = gymnasium.make("betanll/ObjectSlide-v1")
"""

try:
    import gymnasium as _gymnasium
except ModuleNotFoundError as error:
    if error.name != "gymnasium":
        raise
    raise ImportError(
        'betanll.dynamics needs Gymnasium: pip install "betanll[dynamics]"'
    ) from None

from betanll.datasets._object_slide import OBJECT_SLIDE_STEPS as _STEPS
from betanll.dynamics._object_slide import ObjectSlideEnv

__all__ = ["ObjectSlideEnv"]

_gymnasium.register(
    "betanll/ObjectSlide-v1",
    entry_point="betanll.dynamics:ObjectSlideEnv",
    max_episode_steps=_STEPS,
)
