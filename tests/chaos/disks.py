"""Small disks, made for one test: they can be filled, and made read-only."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NO_MOUNT = "cannot mount a file system here"


@contextmanager
def small_disk(at: Path, size: str = "2m") -> Iterator[Path]:
    """A file system of its own, if we may mount one."""
    at.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", at], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(NO_MOUNT)
    try:
        yield at
    finally:
        subprocess.run(["umount", "--lazy", at], check=True)


def make_read_only(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """Not a byte is left, until the end of the block."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                pass
    try:
        yield
    finally:
        os.unlink(ballast)  # noqa: PTH108
