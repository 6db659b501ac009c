"""Progress of long work: a bar in a terminal, occasional lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from tqdm import tqdm

#: Seconds between lines in logs and notebooks.
LINE_EVERY = 10.0
#: Seconds, and share of the work, before the time left is estimated: compilations make
#: the beginning slower than the rest.
MIN_SECONDS = 10.0
MIN_SHARE = 0.05
#: Seconds before a bar appears.
_DELAY = 2.0
#: Seconds between two drawings of a bar.
_REDRAW_EVERY = 0.1
#: Larger numbers are shown with a prefix, such as 1.25M.
_LARGE = 100_000


class Progress:
    """Shows on the standard error how much of some work is done.

    Parameters
    ----------
    total : int, optional
        Amount of work; without it, the time left is not estimated.
    unit : str
        Unit of the work, as a plural.
    initial : int, default=0
        Amount done earlier.
    description : str, default=""
        Name of the work, for commands with several kinds.
    is_shown : bool, default=True
        Whether to show anything.

    Examples
    --------
    >>> from betanll.progress import Progress
    >>> with Progress(3, "files") as progress:
    ...     for size in (10, 200, 30):
    ...         progress.update(note=f"{size} bytes")
    """

    def __init__(
        self,
        total: int | None,
        unit: str,
        *,
        initial: int = 0,
        description: str = "",
        is_shown: bool = True,
    ) -> None:
        self._display: _Bar | _Lines | None = None
        if is_shown:
            is_terminal = sys.stderr is not None and sys.stderr.isatty()
            display = _Bar if is_terminal else _Lines
            self._display = display(_Clock(total, initial), unit, description)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._display is not None:
            self._display.close()

    def update(self, n: int = 1, note: str | None = None) -> None:
        """Count `n` more, and show a note from now on."""
        if self._display is not None:
            self._display.clock.n += n
            self._display.advance(n, note)

    def say(self, line: str) -> None:
        """Print a line without tearing the bar."""
        with tqdm.external_write_mode():
            print(line)


class _Clock:
    """Counts work, and tells how long the rest will take."""

    def __init__(self, total: int | None, initial: int) -> None:
        self.total, self.initial, self.n = total, initial, initial
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    @property
    def left(self) -> str:
        """Return the time left in words, empty until it can be estimated."""
        if not self.total or self.seconds < MIN_SECONDS:
            return ""
        done, planned = self.n - self.initial, self.total - self.initial
        if done <= 0 or done < MIN_SHARE * planned or done >= planned:
            return ""
        return f", about {duration((planned - done) * self.seconds / done)} left"


class _Bar(tqdm):  # type: ignore[misc]
    def __init__(self, clock: _Clock, unit: str, description: str) -> None:
        self.clock = clock
        ending = " [{elapsed}{left}{postfix}]"
        known = "{l_bar}{bar}| {n_fmt}/{total_fmt}{unit}" + ending
        super().__init__(
            desc=description or None,
            total=clock.total,
            initial=clock.initial,
            unit=f" {unit}",
            unit_scale=clock.total is None or clock.total >= _LARGE,
            bar_format=known if clock.total else "{desc}{n_fmt}{unit}" + ending,
            delay=_DELAY,
            mininterval=_REDRAW_EVERY,
            leave=False,
        )

    def advance(self, n: int, note: str | None) -> None:
        if note is not None:
            self.set_postfix_str(note, refresh=False)
        self.update(n)

    @property
    def format_dict(self) -> dict[str, Any]:
        return {**super().format_dict, "left": self.clock.left}


class _Lines:
    def __init__(self, clock: _Clock, unit: str, description: str) -> None:
        self.clock = clock
        self._unit, self._note = unit, ""
        self._before = f"{description}: " if description else ""
        self._is_over = threading.Event()
        # A thread, so that lines appear even if nothing finishes for long.
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def advance(self, n: int, note: str | None) -> None:
        if note is not None:
            self._note = f", {note}"

    def _run(self) -> None:
        while not self._is_over.wait(LINE_EVERY):
            print(self.line(), file=sys.stderr, flush=True)

    def line(self) -> str:
        clock = self.clock
        of_all = f" of {clock.total:,}" if clock.total else ""
        return (
            f"{self._before}{clock.n:,}{of_all} {self._unit} after "
            f"{duration(clock.seconds)}{clock.left}{self._note}"
        )

    def close(self) -> None:
        self._is_over.set()
        self._thread.join()


def duration(seconds: float) -> str:
    """Return a duration in words, in the two largest units.

    Examples
    --------
    >>> from betanll.progress import duration
    >>> duration(7.6), duration(200), duration(4000), duration(200_000)
    ('8 s', '3 min 20 s', '1 h 7 min', '2 d 8 h')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(seconds / 60)
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    hours = round(seconds / 3600)
    return f"{hours // 24} d {hours % 24} h"
