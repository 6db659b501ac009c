"""Load trained weights of an EfficientNet, all of them or none."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformers import EfficientNetModel
from transformers.utils import logging as transformers_logging

#: Weights of a classifier outside the encoder.
_NOT_ENCODER = ("classifier.", "pooler.")


def load_encoder(source: str | Path) -> Any:
    """Return the EfficientNetModel in a folder or on the Hugging Face hub.

    Missing or misshapen weights raise a ``ValueError``; transformers by itself would
    replace them by random numbers.
    """
    loader: Any = EfficientNetModel
    is_folder = Path(source).is_dir()
    if isinstance(source, Path) and not is_folder:
        raise FileNotFoundError(f"{source}: there is no such folder")
    # Without this file transformers would take its defaults.
    if is_folder and not (Path(source) / "config.json").is_file():
        raise FileNotFoundError(f"{source}: there is no config.json in this folder")
    try:
        with _silence():
            model, report = loader.from_pretrained(
                str(source),
                use_safetensors=True,
                local_files_only=is_folder,
                output_loading_info=True,
                # Refused below, together with missing weights.
                ignore_mismatched_sizes=True,
                # Published paddings are for image sides that become odd in some block;
                # multiples of 32 do not.
                depthwise_padding=[],
                drop_connect_rate=0.0,  # as in the paper
            )
    # Transformers, safetensors and json raise almost anything for bad files.
    except Exception as error:
        if not is_folder and isinstance(error, OSError):
            raise OSError(
                f"{source}: no EfficientNet in safetensors is in a folder of this name "
                "or could be downloaded from the Hugging Face hub"
            ) from error
        kind = OSError if isinstance(error, OSError) else ValueError
        reason = " ".join(str(error).split())
        raise kind(f"{source}: the weights cannot be read: {reason}") from error
    unknown = {n for n in report["unexpected_keys"] if not n.startswith(_NOT_ENCODER)}
    misshapen = {name for name, *_ in report["mismatched_keys"]}
    wrong = sorted(unknown | misshapen | set(report["missing_keys"]))
    if wrong:
        others = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise ValueError(
            f"{source}: the weights do not fit the configuration: missing, unknown or "
            f"of another shape: {wrong[0]}{others}"
        )
    return model


@contextmanager
def _silence() -> Iterator[None]:
    """Suppress logs, warnings and progress bars of transformers and its hub."""
    loggers = [logging.getLogger(name) for name in ("transformers", "huggingface_hub")]
    levels = [logger.level for logger in loggers]
    bars: Any = transformers_logging
    had_bars = bars.is_progress_bar_enabled()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            bars.disable_progress_bar()
            for logger in loggers:
                logger.setLevel(logging.CRITICAL + 1)
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
            if had_bars:
                bars.enable_progress_bar()
