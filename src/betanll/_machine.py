"""What the machine can give to this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def available_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes that this process can still use, None if nobody knows.

    On Linux: memory and swap that are free or can be freed, or less if a control group
    (of a container, a batch system) allows less. Elsewhere: all memory of the machine.
    """
    free = [*_system(root), *_control_groups(root), *_limit(root)]
    if free:
        return max(0, min(free))
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows has none of it
        return None


def _system(root: Path) -> Iterator[int]:
    numbers = _table(root / "proc/meminfo")
    if "MemAvailable" in numbers:
        yield 1024 * (numbers["MemAvailable"] + numbers.get("SwapFree", 0))


def _control_groups(root: Path) -> Iterator[int]:
    """Yield what the group of this process, and those above it, have left."""
    top = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        # Version 2 has one hierarchy, version 1 one for each controller.
        if not controllers:
            base, names = top, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            base = top / "memory"
            names = (
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                "total_inactive_file",
            )
        else:
            continue
        folder = base / path.lstrip("/")
        for group in (folder, *folder.parents):
            if not group.is_relative_to(base):
                break
            limit, used = (_text(group / name).strip() for name in names[:2])
            # "max" means no limit. Files that were read can be dropped again.
            if limit.isdecimal() and used.isdecimal():
                cached = _table(group / "memory.stat").get(names[2], 0)
                yield int(limit) - int(used) + cached


def _limit(root: Path) -> Iterator[int]:
    """Yield what ``ulimit -v`` leaves of the address space of this process."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    used = _table(root / "proc/self/status").get("VmSize")
    if limit != resource.RLIM_INFINITY and used is not None:
        yield limit - 1024 * used


def _table(path: Path) -> dict[str, int]:
    """Return the numbers of a file with a name and a number in each line."""
    rows = (line.replace(":", " ").split() for line in _text(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdecimal()}


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""
