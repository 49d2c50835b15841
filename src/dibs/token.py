"""A lease as text, to be handed on by one process to another."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from math import isfinite
from typing import TYPE_CHECKING, Any, cast
from zlib import crc32

from dibs.errors import ConfigError
from dibs.flows.adopting import hand_on
from dibs.model.baton import Baton, is_plain
from dibs.model.names import lock_fault, namespace_fault, text_fault
from dibs.model.request import LONGEST_TTL, SHORTEST_TTL
from dibs.runtime.clock import boottime

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.flows.hold import Hold

VERSION = 1

_FORM = re.compile(r"dibs([1-9][0-9]{0,8})\.([A-Za-z0-9_-]+)\.([0-9a-f]{8})")
_WHOLE = "take all of what lease.to_token() gave, and nothing else"


def handed_on(namespace: str, desk: Desk, hold: Hold) -> str | None:
    """The token of a lease that ends here; `None` if it had ended already."""
    if not is_plain(hold.request):  # who shares it, and how often it was entered, is in no token yet
        raise ConfigError(
            f"the lease on {hold.name!r} cannot be handed on: only that of a plain lock can, which one alone holds, "
            "and once; release it here and take it there"
        )
    baton = hand_on(desk, hold, now=boottime(), namespace=namespace)
    return None if baton is None else written(baton)


def written(baton: Baton) -> str:
    """The token: a version, the facts, and a sum over both. It goes into a URL as it is."""
    from json import dumps  # noqa: PLC0415 - needed by few

    facts = {field.name: getattr(baton, field.name) for field in fields(Baton)}
    payload = _to_base64(dumps(facts, separators=(",", ":")).encode())
    return f"dibs{VERSION}.{payload}.{_sum(f'dibs{VERSION}.{payload}')}"


def read(token: object, namespace: str) -> Baton:
    """What a token says, if it is whole, of this version and for this namespace. The token itself is never shown."""
    if not isinstance(token, str):
        raise ConfigError(f"a token is text, not {type(token).__name__}: {_WHOLE}")
    found = _FORM.fullmatch(token)
    if found is None:
        raise ConfigError(f"that is no token of a lease: {_WHOLE}")
    version, payload, checksum = found.groups()
    if checksum != _sum(f"dibs{version}.{payload}"):
        raise ConfigError(f"the token is damaged: {_WHOLE}")
    if int(version) > VERSION:
        raise ConfigError(f"the token is of version {version}, and this dibs reads {VERSION}: upgrade it")
    baton = _baton(payload)
    if baton is None or baton.span <= 0 or written(baton) != token:
        raise ConfigError(f"the token is not one that dibs has made: {_WHOLE}")
    if baton.namespace != namespace:
        raise ConfigError(
            f"the token is of namespace {baton.namespace!r}, and this client's is {namespace!r}: "
            f"adopt it with dibs.connect(..., namespace={baton.namespace!r})"
        )
    return baton


def _baton(payload: str) -> Baton | None:
    """The facts, if each is of its kind and makes sense: what was not made here might come from anybody."""
    from json import loads  # noqa: PLC0415 - needed by few

    try:
        facts = loads(_from_base64(payload))
    except (ValueError, RecursionError):
        return None
    if not isinstance(facts, dict):
        return None
    known = cast("dict[str, Any]", facts)
    return Baton(**known) if list(known) == list(_SOUND) and all(_SOUND[fact](known[fact]) for fact in known) else None


def _is_span(value: Any, least: float = 0.0, most: float = 1e12) -> bool:
    return type(value) is float and isfinite(value) and least <= value <= most


_SOUND: dict[str, Callable[[Any], bool]] = {
    "namespace": lambda value: namespace_fault(value) is None,
    "name": lambda value: lock_fault(value) is None,
    "owner": lambda value: value != "" and text_fault(value, what="an owner") is None,
    "fence": lambda value: type(value) is int and 0 < value < 2**63,
    "ttl": lambda value: _is_span(value, SHORTEST_TTL, LONGEST_TTL),
    "held_for": _is_span,
    "renew": lambda value: type(value) is bool,
    "max_hold": lambda value: value is None or _is_span(value),
    "at_least": _is_span,
    "bar_until": lambda value: value is None or _is_span(value),
}
"""What a token says, in this order, and what is a sensible value of each."""


def _sum(text: str) -> str:
    return f"{crc32(text.encode()):08x}"


def _to_base64(raw: bytes) -> str:
    from base64 import urlsafe_b64encode  # noqa: PLC0415 - needed by few

    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def _from_base64(text: str) -> bytes:
    from base64 import urlsafe_b64decode  # noqa: PLC0415 - needed by few

    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
