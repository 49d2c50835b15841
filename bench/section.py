"""A part of a run: what was measured, what it is judged by, and what has to be said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.rounds import Row
from bench.targets import Target


@dataclass(frozen=True, slots=True)
class Section:
    """All of one part."""

    rows: Sequence[Row]
    targets: Sequence[Target]
    notes: Sequence[str] = ()
    server: str = ""
    """What it was measured on, if that was a server."""
    beside: Sequence[str] = ()
    """Names and versions of what was measured beside us."""
    missing: Sequence[str] = ()
    """Those that would have been, too, but are not here."""
