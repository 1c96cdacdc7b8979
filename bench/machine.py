"""Where and with what a bench ran: the part of a result that makes it comparable."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

IN_MEMORY = frozenset({"tmpfs", "ramfs"})


def machine(folder: Path) -> dict[str, object]:
    """Processor, cores, memory, system and Python, and the file system that `folder` lies on."""
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory_bytes / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "file_system": file_system(folder),
    }


def file_system(folder: Path) -> str | None:
    """The type of the file system under a folder; None where the system does not say."""
    lines = _said(["df", "--output=fstype", str(folder)]).splitlines()
    return lines[1].strip() if len(lines) == 2 else None


def commit(root: Path) -> str | None:
    """The commit of a checkout, with "+" behind it when files of the package differ from it."""
    head = _said(["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"]).strip()
    if not head:
        return None
    changed = _said(["git", "-C", str(root), "status", "--porcelain", "--", "mercator"])
    return f"{head}+" if changed else head


def versions(names: Iterable[str]) -> dict[str, str | None]:
    """The installed versions of distributions; None for one that is not installed."""
    return {name: _version(name) for name in names}


def load_1m() -> float:
    """The load average of the last minute: above about 1 before a run, others were at work."""
    return round(os.getloadavg()[0], 2)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _said(command: list[str]) -> str:
    """What a command prints; "" when there is no such command or it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
