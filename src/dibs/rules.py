"""What people may say of a schedule's times, and whether it makes sense."""

from __future__ import annotations

from datetime import UTC, tzinfo

from dibs.errors import ConfigError
from dibs.model.calendar import Rule, cron, every
from dibs.model.duration import Duration
from dibs.options import yes_or_no


def cron_rule(expression: str, *, tz: str | tzinfo = "UTC", seconds: bool = False, jitter: Duration = 0) -> Rule:
    """The rule of a cron expression or a macro; a `ConfigError` names what is wrong and what to write instead."""
    with_seconds, name = yes_or_no("seconds", seconds), _zone_name(tz)
    try:
        return cron(expression, tz=name, seconds=with_seconds, jitter=jitter)
    except ValueError as fault:
        raise ConfigError(str(fault)) from None


def every_rule(period: Duration, *, jitter: Duration = 0) -> Rule:
    """The rule of a period; a `ConfigError` says what is wrong with it."""
    try:
        return every(period, jitter=jitter)
    except ValueError as fault:
        raise ConfigError(str(fault)) from None


def _zone_name(tz: object) -> str:
    """Schedules are kept in the store, for all nodes: so by the name that all of them know."""
    name = "UTC" if tz is UTC else tz if isinstance(tz, str) else getattr(tz, "key", None)
    if not isinstance(name, str):
        raise ConfigError(f"tz={tz!r}: name the time zone, as in 'Europe/Berlin'")
    return name
