"""Many tasks on one machine or a cluster, with results that survive.

A :class:`Task` is a plain description. :func:`run_sweep` hands tasks to Dask workers
and commits each result to a :class:`Store` the moment it lands: a run that was stopped,
by whatever, continues where it was.
"""

from betanll.sweeps._run import SweepReport, run_sweep
from betanll.sweeps._store import Store, StoreError
from betanll.sweeps._task import Task

__all__ = ["Store", "StoreError", "SweepReport", "Task", "run_sweep"]
