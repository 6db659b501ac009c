"""Many tasks on one machine or a cluster, with results that survive.

Mark a function with :func:`task`; a :class:`Task` describes a call of it.
:func:`run_sweep` hands tasks to Dask workers and commits each result to a
:class:`Store` when it arrives, so that a stopped sweep can resume. An
:class:`Experiment` defines the tasks of tables and figures and renders their results;
:func:`run_experiments` runs it.
"""

from betanll.sweeps._experiment import (
    Experiment,
    MissingResultsError,
    Request,
    RequestError,
    Results,
)
from betanll.sweeps._record import StoreError
from betanll.sweeps._run import SweepReport, run_sweep
from betanll.sweeps._run_experiments import (
    ExperimentReport,
    check_experiments,
    installed_experiments,
    run_experiments,
)
from betanll.sweeps._store import Store
from betanll.sweeps._task import Task, task

__all__ = [
    "Experiment",
    "ExperimentReport",
    "MissingResultsError",
    "Request",
    "RequestError",
    "Results",
    "Store",
    "StoreError",
    "SweepReport",
    "Task",
    "check_experiments",
    "installed_experiments",
    "run_experiments",
    "run_sweep",
    "task",
]
