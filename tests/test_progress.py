import io
import re
import sys
import threading
import time

import pytest

from betanll import progress
from betanll.progress import Progress, duration


class Clock:
    """Stands for the module `time`, with seconds that pass on demand."""

    now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(progress, "time", clock := Clock())
    return clock


class Terminal(io.StringIO):
    def isatty(self):
        return True


def wait_for_line(capsys):
    deadline = time.monotonic() + 10
    while not (line := capsys.readouterr().err):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return line.splitlines()[0]


@pytest.fixture
def often(monkeypatch):
    monkeypatch.setattr(progress, "LINE_EVERY", 0.01)


def test_lines_where_there_is_no_terminal(capsys, clock, often):
    with Progress(40, "tasks", initial=10, description="sweep") as progress:
        assert wait_for_line(capsys) == "sweep: 10 of 40 tasks after 0 s"
        progress.update()
        clock.now = 20.0
        progress.update(9, note="2.1 MB")
        capsys.readouterr()
        wait_for_line(capsys)  # may have been made before the update
        expected = "sweep: 20 of 40 tasks after 20 s, about 40 s left, 2.1 MB"
        assert wait_for_line(capsys) == expected
    capsys.readouterr()
    time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_lines_come_while_nothing_is_finished(capsys, often):
    with Progress(None, "rows"):
        assert re.fullmatch(r"0 rows after 0 s", wait_for_line(capsys))


def test_short_work_says_nothing_and_leaves_no_thread(capsys):
    before = threading.active_count()
    with Progress(3, "files") as progress:
        progress.update(3)
    assert threading.active_count() == before
    assert capsys.readouterr() == ("", "")


def test_a_bar_in_a_terminal(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress(200_000, "steps", description="walk") as progress:
        bar = progress._display
        bar.start_t -= 100  # as if it had been shown for long
        clock.now = 100.0
        progress.update(50_000, note="fine")
        shown = str(bar)
        assert "walk:  25%|" in shown
        assert "50.0k/200k steps [" in shown
        assert ", about 5 min 0 s left, fine]" in shown
    with Progress(None, "rows") as progress:
        progress.update(7)
        assert str(progress._display).startswith("7.00 rows [")


def test_nothing_is_shown_unless_asked_for(monkeypatch, often):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with Progress(3, "files", is_shown=False) as progress:
        progress.update()
        time.sleep(0.05)
    assert terminal.getvalue() == ""


def test_the_time_left_is_not_guessed_from_the_beginning(clock):
    """A minute's work whose first step, with its compilation, takes 9 seconds."""
    counted = progress._Clock(1000, 0)
    estimates = []
    for n in range(1, 1001):
        counted.n = n
        clock.now = 9 + 51 * n / 1000
        estimates.append(counted.left)
    assert estimates[0] == estimates[-1] == ""
    texts = [text for text in estimates if text]
    assert len(texts) > 900
    first = re.fullmatch(r", about (\d+) min (\d+) s left", texts[0])
    assert 60 * int(first[1]) + int(first[2]) < 4 * 60
    assert texts[-1] == ", about 0 s left"


def test_no_estimate_without_work_of_this_time(clock):
    counted = progress._Clock(100, 50)
    clock.now = 60.0
    assert counted.left == ""
    counted.n += 25
    assert counted.left == ", about 1 min 0 s left"


def test_durations_carry_over():
    assert duration(59.4) == "59 s"
    assert duration(59.6) == "1 min 0 s"
    assert duration(3599.6) == "1 h 0 min"
    assert duration(86_399) == "1 d 0 h"
