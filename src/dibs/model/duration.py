"""How people write durations: `30`, `timedelta(minutes=5)`, `"1h30m"`."""

from __future__ import annotations

import math
import re
from datetime import timedelta

Duration = float | int | str | timedelta
"""Seconds, a `timedelta`, or text such as `"500ms"`, `"90s"`, `"1h30m"`, `"1d"`."""

LONGEST_SHOWN = 60

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")


def seconds(value: object) -> float:
    """The duration in seconds; a `ValueError` says what is wrong with anything else."""
    try:
        duration = _counted(value)
    except OverflowError:
        raise ValueError(f"{_shown(value)} is longer than any clock counts; give a finite duration") from None
    if not math.isfinite(duration):
        raise ValueError(f"{_shown(value)} has no end; give a finite duration")
    if duration < 0:
        raise ValueError(f"{_shown(value)} is negative; a duration counts forward")
    return duration


def spoken(duration: float) -> str:
    """The duration as people say it: `spoken(5400)` is `"1h30m"`."""
    if duration < 1:
        return f"{duration * 1000:.0f}ms"
    if duration < _UNITS["m"]:
        return f"{duration:.3g}s"
    left, words = round(duration), list[str]()
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count:
            words.append(f"{count}{unit}")
    return "".join(words[:2])


def _counted(value: object) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, str):
        return _parsed(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{_shown(value)} is not a duration; use seconds, a timedelta or text such as '1h30m'")
    return float(value)


def _parsed(text: str) -> float:
    squeezed = text.replace(" ", "").lower()
    if not _WHOLE.fullmatch(squeezed):
        raise ValueError(f"{_shown(text)} is not a duration; write it as '500ms', '90s', '1h30m' or '1d'")
    return math.fsum(float(count) * _UNITS[unit] for count, unit in _PART.findall(squeezed))


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write out numbers of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
