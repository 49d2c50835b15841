"""Moments as people write them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from dibs.model.calendar import Rule


def moment(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def upcoming(rule: Rule, since: float) -> Iterator[datetime]:
    """What is due after that, in UTC."""
    tick = rule.after(since)
    while tick is not None:
        yield datetime.fromtimestamp(tick, UTC)
        tick = rule.after(tick)
