"""Packages that depth needs beside those of betanll-paper."""

from __future__ import annotations

import importlib


def require_extras() -> None:
    """Raise an ``ImportError`` that says what to install, if something is missing."""
    importlib.import_module("betanll.torch")  # says what to install
    try:
        importlib.import_module("PIL")
        importlib.import_module("transformers")
    except ModuleNotFoundError as error:
        if error.name not in ("PIL", "transformers"):
            raise
        raise ImportError(
            "betanll_paper.depth needs transformers and pillow: "
            'pip install "betanll-paper[depth]"'
        ) from None
