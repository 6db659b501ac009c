"""Settings shared by the tests and by the doctests of the source.

They are environment variables, so that only the tests that use JAX or Matplotlib
import them, and processes started by a test inherit the same settings.
"""

import atexit
import os
import shutil
import tempfile
from importlib.util import find_spec

# A silent broadcast or a silent change of precision is an error in tests.
os.environ["JAX_NUMPY_RANK_PROMOTION"] = "raise"
os.environ["JAX_NUMPY_DTYPE_PROMOTION"] = "strict"
os.environ["MPLBACKEND"] = "Agg"
# The processes of a test run share compiled programs, apart from the user's own.
if "PYTEST_XDIST_WORKER" not in os.environ:
    _programs = tempfile.mkdtemp(prefix="betanll-tests-")
    atexit.register(shutil.rmtree, _programs, ignore_errors=True)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = _programs
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.3"

# Doctests of optional parts are collected only where their dependency is installed.
OPTIONAL = {"torch": "src/betanll/torch", "gymnasium": "src/betanll/dynamics"}
collect_ignore_glob = [
    pattern
    for module, folder in OPTIONAL.items()
    if find_spec(module) is None
    for pattern in (folder, f"{folder}/*")
]
