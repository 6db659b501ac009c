"""Benchmarks are no part of the package; they are tested where they lie beside it."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

if (ROOT / "benchmarks" / "quality").is_dir():
    sys.path.append(str(ROOT))
else:
    collect_ignore_glob = ["test_*.py"]
