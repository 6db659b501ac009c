"""The runs of the dynamics models.

From state and action a network learns how far an object moves in a step. The best of a
grid of networks and learning rates, by validation score, is trained again with several
seeds; only these runs are tested.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from betanll.sweeps import Task
from betanll_paper.datasets import data_directory
from betanll_paper.dynamics.training import train
from betanll_paper.presets import Preset
from betanll_paper.published.dynamics import (
    CONTROL,
    DATASETS,
    FETCH,
    GRID,
    N_SEEDS,
    NAMES,
    OBJECT_SLIDE,
    Configuration,
    paper_best,
)
from betanll_paper.published.methods import METHODS, SLOW, SLOW_NAMES, Method
from betanll_paper.simulators.fetch_files import (
    HEADER,
    N_ROLLOUTS,
    Source,
    source_of,
)

#: How the shorter presets search, in words.
_SHORT = {
    "every grid": "with the paper's best configuration",
    SLOW_NAMES: "with that alone and 1 seed",
}
#: An episode is of each of the three sets of ObjectSlide.
_PAPER = Preset(
    N_SEEDS,
    {NAMES[OBJECT_SLIDE]: 5000, NAMES[FETCH]: 500},
    {"configuration": GRID},
    {"episode": 2000, "rollout": N_ROLLOUTS},
)
#: The paper's best configuration of a method belongs to its grid in any case.
PRESETS = {
    "smoke": Preset(
        2,
        dict.fromkeys(NAMES.values(), 2),
        {"configuration": (Configuration(1e-3, 2, 128, "relu"),)},
        {"episode": 20, "rollout": N_ROLLOUTS},
        options=_SHORT,
    ),
    "laptop": replace(
        _PAPER,
        length={NAMES[OBJECT_SLIDE]: 200, NAMES[FETCH]: 15},
        grid={
            "configuration": tuple(
                c for c in GRID if c.n_layers == 3 and c.n_units == 128 and c[0] >= 3e-4
            )
        },
        options=_SHORT,
    ),
    "paper": _PAPER,
}


def run_and_paper(
    preset: str,
    rows: Iterable[dict[str, Any]],
    datasets: Iterable[str],
    tried: Sequence[Any],
) -> tuple[Preset, Preset]:
    """Return the presets of our runs and of the paper for some datasets.

    Parameters
    ----------
    preset : {"smoke", "laptop", "paper"}
    rows : iterable of dict
        Results, which contain the number of rollouts.
    datasets : iterable of str
    tried : sequence
        The longest grid of a method.
    """
    names = {NAMES[name]: name for name in datasets}
    sizes = {"episode": OBJECT_SLIDE, "rollout": FETCH}
    done, paper = (
        replace(
            one,
            length={name: one.length[name] for name in names},
            sizes={n: one.sizes[n] for n, of in sizes.items() if of in names.values()},
        )
        for one in (PRESETS[preset], PRESETS["paper"])
    )
    if FETCH in names.values():
        n_rollouts = min(row["n_rollouts"] for row in rows if row["dataset"] == FETCH)
        done = replace(done, sizes={**done.sizes, "rollout": n_rollouts})
    return replace(done, grid={"configuration": tried}), paper


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
    published = Method("student-t") if method == CONTROL else method
    known = paper_best().get((dataset, published))
    grid = list(PRESETS[preset].grid["configuration"])
    if known is not None:
        if _is_short(preset, method):
            grid = []
        grid = [known, *grid]
    return list(dict.fromkeys(grid))


def count_seeds(preset: str, method: Method) -> int:
    """Return the number of tested runs of a method's best configuration."""
    return 1 if _is_short(preset, method) else PRESETS[preset].repeats


def search_tasks(
    preset: str,
    *,
    methods: Iterable[Method] = (*METHODS, CONTROL),
    datasets: Iterable[str] = DATASETS,
) -> list[Task]:
    """Return the runs of the grids.

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
    """Return the runs with the best configuration of a method.

    Parameters
    ----------
    preset : {"smoke", "laptop", "paper"}
    dataset : str
    method : Method
    searched : iterable of dict
        Rows of the results of :func:`search_tasks`. If all runs of a method diverged,
        it has no best configuration.
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
    """Return the tasks by cost; tasks that share a program stay together."""
    return sorted(tasks, key=_cost, reverse=True)


def best_configurations(
    searched: Iterable[dict[str, Any]],
) -> dict[tuple[str, Method], Configuration]:
    """Return the configuration with the best validation score by dataset and method."""
    best: dict[tuple[str, Method], dict[str, Any]] = {}
    for row in searched:
        if row["kind"] != "search" or row["score"] is None:
            continue
        key = row["dataset"], Method.of_row(row)
        if key not in best or row["score"] < best[key]["score"]:
            best[key] = row
    return {key: configuration_of(row) for key, row in best.items()}


def configuration_of(row: dict[str, Any]) -> Configuration:
    """Return the configuration of a result."""
    return Configuration(*(row[name] for name in Configuration._fields))


def _is_short(preset: str, method: Method) -> bool:
    return SLOW_NAMES in PRESETS[preset].options and method.name in SLOW


def _cost(task: Task) -> int:
    settings = dict(task.settings)
    n_weights = settings["n_layers"] * settings["n_units"] ** 2
    return int(n_weights + 10**6 * (settings["method"] in SLOW))


def _data_settings(dataset: str, preset: str) -> dict[str, Any]:
    """Return settings that identify the data, so that other results are not reused.

    Without rollouts on this machine, the default size of the paper counts.
    """
    if dataset == OBJECT_SLIDE:
        return {"n_episodes": PRESETS[preset].sizes["episode"]}
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
        **method.settings,
        **configuration._asdict(),
        epochs=PRESETS[preset].length[NAMES[dataset]],
        seed=seed,
        is_final=is_final,
        **_data_settings(dataset, preset),
    )
