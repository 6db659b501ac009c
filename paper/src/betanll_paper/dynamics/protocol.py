"""Models of dynamics: which trainings there are.

From state and action a network learns how far an object moves in a step. Of a grid of
networks and learning rates the one with the best validation score is trained again with
several seeds; only then the test set is looked at.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, NamedTuple

from betanll.sweeps import Task
from betanll_paper.datasets import data_directory
from betanll_paper.dynamics.training import train
from betanll_paper.published.dynamics import (
    CONTROL,
    DATASETS,
    FETCH,
    GRID,
    N_SEEDS,
    OBJECT_SLIDE,
    Configuration,
    paper_best,
)
from betanll_paper.published.methods import METHODS, Method

#: Those whose likelihood is an expectation over samples: many times as slow.
SLOW = frozenset(["xvamp", "xvamp-star", "vbem", "vbem-star"])


class Preset(NamedTuple):
    """How much of the experiment is run.

    The paper's best configuration of a method belongs to its grid in any case.
    """

    epochs: dict[str, int]
    n_seeds: int
    grid: tuple[Configuration, ...]
    #: Whether slow methods have the paper's best configuration only, and one seed.
    is_short_if_slow: bool = False
    #: Of each of the three sets of ObjectSlide.
    n_episodes: int = 2000


PRESETS = {
    "smoke": Preset(
        dict.fromkeys(DATASETS, 2),
        n_seeds=2,
        grid=(Configuration(1e-3, 2, 128, "relu"),),
        is_short_if_slow=True,
        n_episodes=20,
    ),
    "laptop": Preset(
        dict(zip(DATASETS, (200, 15), strict=True)),
        n_seeds=N_SEEDS,
        grid=tuple(
            c for c in GRID if c.n_layers == 3 and c.n_units == 128 and c[0] >= 3e-4
        ),
        is_short_if_slow=True,
    ),
    "paper": Preset(
        dict(zip(DATASETS, (5000, 500), strict=True)), n_seeds=N_SEEDS, grid=GRID
    ),
}


def configurations(preset: str, dataset: str, method: Method) -> list[Configuration]:
    """Return the grid of a method, the paper's best configuration first.

    Examples
    --------
    >>> len(configurations("paper", "object-slide", Method("mse")))
    96
    >>> for configuration in configurations("laptop", "object-slide", Method("mse")):
    ...     print(configuration)
    3x128 relu, learning rate 0.001
    3x128 tanh, learning rate 0.0003
    3x128 relu, learning rate 0.0003
    3x128 tanh, learning rate 0.001
    """
    chosen = PRESETS[preset]
    published = Method("student-t") if method == CONTROL else method
    known = paper_best().get((dataset, published))
    grid = list(chosen.grid)
    if known is not None:
        if _is_short(preset, method):
            grid = []
        grid = [known, *grid]
    return list(dict.fromkeys(grid))


def count_seeds(preset: str, method: Method) -> int:
    """Return how often the best configuration of a method is trained and tested."""
    return 1 if _is_short(preset, method) else PRESETS[preset].n_seeds


def search_tasks(
    preset: str,
    *,
    methods: Iterable[Method] = (*METHODS, CONTROL),
    datasets: Iterable[str] = DATASETS,
) -> list[Task]:
    """Return the trainings of the grids.

    A grid of one configuration leaves nothing to search.

    Examples
    --------
    >>> len(search_tasks("paper", methods=METHODS))
    2304
    """
    tasks = []
    for dataset, method in itertools.product(datasets, methods):
        grid = configurations(preset, dataset, method)
        if len(grid) > 1:
            tasks += [_task(preset, dataset, method, one, seed=0) for one in grid]
    return tasks


def final_tasks(
    preset: str, dataset: str, method: Method, searched: Iterable[dict[str, Any]]
) -> list[Task]:
    """Return the trainings with the best configuration of a method.

    Parameters
    ----------
    preset : {"smoke", "laptop", "paper"}
    dataset : str
    method : Method
    searched : iterable of dict
        Rows of the results of :func:`search_tasks`. A method all of whose trainings
        diverged has no best one.
    """
    grid = configurations(preset, dataset, method)
    if len(grid) == 1:
        best: Configuration | None = grid[0]
    else:
        best = best_configurations(searched).get((dataset, method))
    if best is None:
        return []
    # Seed 0 has chosen the configuration.
    seeds = range(1, count_seeds(preset, method) + 1)
    return [
        _task(preset, dataset, method, best, seed=seed, is_final=True) for seed in seeds
    ]


def longest_first(tasks: Iterable[Task]) -> list[Task]:
    """Return the tasks by what they cost, those that share a program together."""
    return sorted(tasks, key=_cost, reverse=True)


def best_configurations(
    searched: Iterable[dict[str, Any]],
) -> dict[tuple[str, Method], Configuration]:
    """Return the configuration with the best validation score by dataset and method."""
    best: dict[tuple[str, Method], dict[str, Any]] = {}
    for row in searched:
        if row["kind"] != "search" or row["score"] is None:
            continue
        key = row["dataset"], Method(row["method"], row["beta"])
        if key not in best or row["score"] < best[key]["score"]:
            best[key] = row
    return {key: configuration_of(row) for key, row in best.items()}


def fetch_rollouts(rows: Iterable[dict[str, Any]]) -> int:
    """Return on how many rollouts of Fetch the results are."""
    return min(row["n_rollouts"] for row in rows if row["dataset"] == FETCH)


def configuration_of(row: dict[str, Any]) -> Configuration:
    """Return the configuration of a result."""
    return Configuration(*(row[name] for name in Configuration._fields))


def _is_short(preset: str, method: Method) -> bool:
    return PRESETS[preset].is_short_if_slow and method.name in SLOW


def _cost(task: Task) -> int:
    settings = dict(task.settings)
    n_weights = settings["n_layers"] * settings["n_units"] ** 2
    return int(n_weights + 10**6 * (settings["method"] in SLOW))


def _data_settings(dataset: str, preset: str) -> dict[str, int]:
    """Return what the data depend on, so that results of others are not taken.

    Without rollouts on this machine, those of the paper's size are meant.
    """
    if dataset == OBJECT_SLIDE:
        return {"n_episodes": PRESETS[preset].n_episodes}
    from betanll_paper.simulators.fetch_files import (
        HEADER,
        N_ROLLOUTS,
        Source,
        source_of,
    )

    folder = data_directory() / FETCH
    has_header = (folder / HEADER).is_file()
    source = source_of(folder) if has_header else Source(N_ROLLOUTS, seed=0)
    return {"n_rollouts": source.n_rollouts, "data_seed": source.seed}


def _task(
    preset: str,
    dataset: str,
    method: Method,
    configuration: Configuration,
    *,
    seed: int,
    is_final: bool = False,
) -> Task:
    return Task.of(
        train,
        dataset=dataset,
        method=method.name,
        beta=method.beta,
        **configuration._asdict(),
        epochs=PRESETS[preset].epochs[dataset],
        seed=seed,
        is_final=is_final,
        **_data_settings(dataset, preset),
    )
