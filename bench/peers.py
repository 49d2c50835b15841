"""The file locks of others, as their readers use them. They are in a venv of their own: not everybody has them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

FILELOCK, FASTENERS, PORTALOCKER = "filelock", "fasteners", "portalocker"
PEERS = (FILELOCK, FASTENERS, PORTALOCKER)

OURS = THREAD, TASK = "sqlite://", "sqlite:// asyncio"
"""Ourselves beside them: on a file too, in both colours."""

PATIENCE = 600.0
"""For the one that would give up by itself after a few seconds, which is nothing when others are starved."""


def installed(peers: Sequence[str] = PEERS) -> list[str]:
    """Those that are here."""
    return [peer for peer in peers if find_spec(peer) is not None]


def missing(peers: Sequence[str] = PEERS) -> list[str]:
    """Those that are not."""
    return [peer for peer in peers if find_spec(peer) is None]


def versions(peers: Sequence[str] = PEERS) -> Sequence[str]:
    """Name and version of each that is here."""
    return [f"{peer} {version(peer)}" for peer in installed(peers)]


def file_lock(peer: str, folder: Path) -> AbstractContextManager[object]:
    """A lock on a file of its own, made with nothing but what it wants to be told."""
    module, file = import_module(peer), folder / f"{peer}.lock"
    lock: AbstractContextManager[object]
    match peer:
        case "filelock":
            lock = module.FileLock(file)
        case "fasteners":
            lock = module.InterProcessLock(file)
        case _:
            lock = module.Lock(file, timeout=PATIENCE)
    return lock
