"""What people may say of a lock, and whether it makes sense."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from dibs.errors import ConfigError
from dibs.model.duration import Duration, seconds, spoken
from dibs.model.names import lock_fault, text_fault
from dibs.model.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dibs.errors import LeaseLost

SHORTEST_TTL = 0.1
LONGEST_TTL = 7 * 86400.0
TTL = 30.0


class TryOptions(TypedDict, total=False):
    """The keywords of a lock that is not waited for."""

    ttl: Duration
    """How long the store keeps the lock without a sign of life (default 30 s)."""
    purpose: str
    """What it is for, shown to whoever looks or waits."""
    renew: bool
    """Whether the lease is renewed until it is released (the default), or ends with its TTL."""
    max_hold: Duration | None
    """The longest it may be held, however well it is renewed."""
    on_lost: Callable[[LeaseLost], object] | None
    """Called once when the lease is lost, on a thread of its own."""


class LockOptions(TryOptions, total=False):
    """The keywords that every primitive takes."""

    wait: Duration | None
    """How long to wait for it; `None`, the default, is as long as it takes."""


_OF_A_TRY = frozenset(TryOptions.__annotations__)
_OF_A_LOCK = _OF_A_TRY | {"wait"}


def request(name: str, options: LockOptions) -> Request:
    """The wish, checked; a `ConfigError` names the value that is wrong and what would be right."""
    if not options.keys() <= _OF_A_LOCK:
        raise _unknown(options, _OF_A_LOCK)
    get = options.get
    if (callback := get("on_lost")) is not None and not callable(callback):
        raise ConfigError(f"on_lost={callback!r}: give a function that takes the LeaseLost, or leave it out")
    said = (get("ttl", TTL), get("wait"), get("purpose", ""), get("renew", True), get("max_hold"))
    try:
        terms = _remembered_terms(*said)
    except TypeError:  # nothing that could be right
        terms = _terms(*said)
    return Request(checked_name(name), *terms)


def try_request(name: str, options: TryOptions) -> Request:
    """The same for one who does not wait."""
    if not options.keys() <= _OF_A_TRY:
        raise _unknown(options, _OF_A_TRY)
    return request(name, {**options, "wait": 0})


_Terms: TypeAlias = tuple[float, float | None, str, bool, float | None]


def _terms(ttl: Any, wait: Any, purpose: Any, renew: Any, max_hold: Any) -> _Terms:
    """What is wished beside the name; most programs say the same each time."""
    longest = None if max_hold is None else _between("max_hold", max_hold, SHORTEST_TTL, 365 * 86400.0)
    span = _between("ttl", ttl, SHORTEST_TTL, LONGEST_TTL)
    return (
        span if longest is None else min(span, longest),
        None if wait is None else _duration("wait", wait),
        checked_text("purpose", purpose),
        _yes_or_no("renew", renew),
        longest,
    )


_remembered_terms = lru_cache(256, typed=True)(_terms)


def checked_name(name: str) -> str:
    """The name, if a lock may have it."""
    if fault := lock_fault(name):
        raise ConfigError(f"{name!r} names no lock: {fault}")
    return name


def checked_text(option: str, text: str) -> str:
    """A short text that others will see."""
    if fault := text_fault(text, what=f"a {option}"):
        raise ConfigError(f"{option}={text!r}: {fault}")
    return text


def _unknown(options: Mapping[str, object], known: frozenset[str]) -> ConfigError:
    """Says which keyword is not known here, and which are."""
    unknown = sorted(options.keys() - known)
    return ConfigError(f"no such option here: {', '.join(unknown)}; there are {', '.join(sorted(known))}")


def _yes_or_no(option: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{option}={value!r}: say True or False")
    return value


def _between(option: str, value: Duration, least: float, most: float) -> float:
    duration = _duration(option, value)
    if not least <= duration <= most:
        raise ConfigError(f"{option}={value!r} is out of range; it goes from {spoken(least)} to {spoken(most)}")
    return duration


def _duration(option: str, value: Duration) -> float:
    try:
        return seconds(value)
    except ValueError as fault:
        raise ConfigError(f"{option}: {fault}") from None
