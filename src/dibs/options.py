"""What people may say of a lock, and whether it makes sense."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from dibs.errors import ConfigError
from dibs.model.duration import Duration, seconds, spoken
from dibs.model.names import lock_fault, text_fault
from dibs.model.policy import OnOutage, OnOutageOfJob
from dibs.model.request import LONGEST_TTL, SHORTEST_TTL, TTL, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dibs.errors import LeaseLost


LONGEST_HOLD = 365 * 86400.0
_UNSAID = object()


class _Saying(TypedDict, total=False):
    """What can be said of every lease."""

    ttl: Duration
    """How long the store keeps the lock without a sign of life (default 30 s)."""
    purpose: str
    """What it is for, shown to whoever looks or waits."""
    renew: bool
    """Whether the lease is renewed until it is released (the default), or ends with its TTL."""
    max_hold: Duration | None
    """The longest it may be held, however well it is renewed."""
    at_least: Duration
    """How long it stays taken, also if it is released sooner: nobody else gets in before that (default 0)."""
    on_lost: Callable[[LeaseLost], object] | None
    """Called once when the lease is lost, on a thread of its own."""


class TryOptions(_Saying, total=False):
    """The keywords of a lock that is not waited for."""

    on_outage: OnOutage
    """What to do while the store is silent: raise ("closed"), do without a lock ("open"), or lock this machine only."""


class LockOptions(TryOptions, total=False):
    """The keywords that every primitive takes."""

    wait: Duration | None
    """How long to wait for it; `None`, the default, is as long as it takes."""


class JobOptions(_Saying, total=False):
    """The same for work that can be left out."""

    wait: Duration | None
    """How long to wait for it; `None`, the default, is as long as it takes."""
    on_outage: OnOutageOfJob
    """What to do while the store is silent: as with a lock, or leave it out ("skip")."""


_OF_A_TRY = frozenset(TryOptions.__annotations__)
_OF_A_LOCK = _OF_A_TRY | {"wait"}


def request(name: str, options: LockOptions | JobOptions, *, ttl: float = TTL, may_skip: bool = False) -> Request:
    """The wish, checked; a `ConfigError` names the value that is wrong and what would be right.

    The `ttl` is the client's, for a lock of which none is said.
    """
    if "on_lost" in options:
        options = _without_callback(options)
    try:
        terms = _remembered_terms(ttl, may_skip, **options)
    except TypeError:  # a keyword that no lock has, or a value that nothing could be right about
        refuse_unknown(options)
        terms = _terms(ttl, may_skip, **options)
    if fault := lock_fault(name):
        raise _nameless(name, fault)
    return Request(name, *terms)


def refuse_unknown(
    options: Mapping[str, object], *, beside: frozenset[str] = frozenset(), but: frozenset[str] = frozenset()
) -> None:
    """Refuse a keyword that no lock has; what its caller knows beside them is named, too, and not what it refuses."""
    if not options.keys() <= _OF_A_LOCK:
        raise _unknown(options, (_OF_A_LOCK | beside) - but)


def try_request(name: str, options: TryOptions, *, ttl: float = TTL) -> Request:
    """The same for one who does not wait."""
    if not options.keys() <= _OF_A_TRY:
        raise _unknown(options, _OF_A_TRY)
    return request(name, {**options, "wait": 0}, ttl=ttl)


_Terms: TypeAlias = tuple[float, float | None, str, bool, float | None, float, int, bool, OnOutageOfJob | None]


def _terms(  # noqa: PLR0913 - one for each keyword
    usual: float,
    may_skip: bool,  # noqa: FBT001 - remembered by its place
    *,
    ttl: Any = _UNSAID,
    wait: Any = None,
    purpose: Any = "",
    renew: Any = True,
    max_hold: Any = None,
    at_least: Any = 0,
    on_outage: Any = None,
) -> _Terms:
    """What is wished beside the name, as a request has it; most programs say the same each time."""
    longest = None if max_hold is None else between("max_hold", max_hold, SHORTEST_TTL, LONGEST_HOLD)
    span = between("ttl", usual if ttl is _UNSAID else ttl, SHORTEST_TTL, LONGEST_TTL)
    return (
        span if longest is None else min(span, longest),
        None if wait is None else _duration("wait", wait),
        checked_text("purpose", purpose),
        yes_or_no("renew", renew),
        longest,
        between("at_least", at_least, 0.0, LONGEST_HOLD),
        1,
        False,
        None if on_outage is None else _policy(on_outage, may_skip=may_skip),
    )


_remembered_terms = lru_cache(256, typed=True)(_terms)


def _without_callback(options: LockOptions | JobOptions) -> LockOptions | JobOptions:
    """What is remembered must not keep somebody's function alive."""
    others = options.copy()
    if (callback := others.pop("on_lost", None)) is not None and not callable(callback):
        raise ConfigError(f"on_lost={callback!r}: give a function that takes the LeaseLost, or leave it out")
    return others


def checked_name(name: str) -> str:
    """The name, if a lock may have it."""
    if fault := lock_fault(name):
        raise _nameless(name, fault)
    return name


def _nameless(name: object, fault: str) -> ConfigError:
    return ConfigError(f"{name!r} names no lock: {fault}")


def checked_text(option: str, text: str) -> str:
    """A short text that others will see."""
    if fault := text_fault(text, what=f"a {option}"):
        raise ConfigError(f"{option}={text!r}: {fault}")
    return text


def checked_callback(option: str, callback: object, *, takes: str) -> None:
    """Refuse what cannot be called, or would only give a coroutine that nobody awaits."""
    if callback is not None and not callable(callback):
        raise ConfigError(f"{option}={callback!r}: give a function that takes {takes}, or leave it out")
    if getattr(getattr(callback, "__code__", None), "co_flags", 0) & _CO_COROUTINE:
        raise ConfigError(f"{option}={callback!r}: give a plain function, nobody would await this one")


_CO_COROUTINE = 0x80
"""As `inspect` calls it, which takes longer to import than all of this."""


_POLICIES: Mapping[str, OnOutageOfJob] = {"closed": "closed", "open": "open", "local": "local", "skip": "skip"}


def _policy(on_outage: object, *, may_skip: bool) -> OnOutageOfJob:
    policy = _POLICIES.get(on_outage) if isinstance(on_outage, str) else None
    if policy == "skip" and not may_skip:
        raise ConfigError(
            "on_outage='skip': a block cannot be skipped; say 'closed' and catch StoreUnreachable, or use @d.locked"
        )
    if policy is None:
        known = "'closed', 'skip', 'open' or 'local'" if may_skip else "'closed', 'open' or 'local'"
        raise ConfigError(f"on_outage={on_outage!r}: say {known}")
    return policy


def _unknown(options: Mapping[str, object], known: frozenset[str]) -> ConfigError:
    """Says which keyword is not known here, and which are."""
    unknown = sorted(options.keys() - known)
    return ConfigError(f"no such option here: {', '.join(unknown)}; there are {', '.join(sorted(known))}")


def yes_or_no(option: str, value: object) -> bool:
    """The value, if it is the one or the other."""
    if not isinstance(value, bool):
        raise ConfigError(f"{option}={value!r}: say True or False")
    return value


def between(option: str, value: Duration, least: float, most: float) -> float:
    """A duration in seconds, if it is neither too short nor too long."""
    duration = _duration(option, value)
    if not least <= duration <= most:
        raise ConfigError(f"{option}={value!r} is out of range; it goes from {spoken(least)} to {spoken(most)}")
    return duration


def _duration(option: str, value: Duration) -> float:
    try:
        return seconds(value)
    except ValueError as fault:
        raise ConfigError(f"{option}: {fault}") from None
