"""By how much a tick's run is put off: a little, and the same on every node, whoever asks and how often."""

from __future__ import annotations

from hashlib import blake2b

from dibs.model.calendar.rule import Rule

BYTES = 8


def due_at(rule: Rule, tick: float, *, name: str) -> float:
    """When the tick of the job of that name is to run. The tick itself stays what it is: its name in all records.

    It is put off by less than the time to the next tick, so that runs keep the order of their ticks.
    """
    if not rule.jitter:
        return tick
    following = rule.after(tick)
    room = rule.jitter if following is None else min(rule.jitter, following - tick)
    return tick + int(_share(name, tick) * room * 1000) / 1000


def _share(name: str, tick: float) -> float:
    """A part of 1 that looks like chance."""
    digest = blake2b(f"{name} {tick!r}".encode(), digest_size=BYTES).digest()
    return int.from_bytes(digest) / (1 << 8 * BYTES)
