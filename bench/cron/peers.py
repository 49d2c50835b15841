"""Those who run jobs by the clock. The others are in a venv of their own, if at all; arq is in a folder beside it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import distributions
from pathlib import Path

OURS = "dibs"
SAQ, ARQ, APSCHEDULER = "saq", "arq", "apscheduler"
PEERS = (SAQ, ARQ, APSCHEDULER)
APART = Path(sys.prefix) / "arq"
"""arq wants a redis-py below 6, and so has one of its own."""


def here() -> list[str]:
    """All that can run."""
    return [OURS, *(peer for peer in PEERS if _version(peer))]


def missing() -> list[str]:
    """The packages that are not here."""
    return [peer for peer in PEERS if not _version(peer)]


def versions() -> Sequence[str]:
    """Name and version of each that is here."""
    return [f"{peer} {found}" for peer in PEERS if (found := _version(peer))]


def environment(system: str) -> Mapping[str, str]:
    """What a process of it has around it."""
    return {**os.environ, "PYTHONPATH": str(APART)} if system == ARQ else os.environ


def _version(peer: str) -> str:
    path = [str(APART)] if peer == ARQ else sys.path
    return next((found.version for found in distributions(name=peer, path=path)), "")
