"""URLs of stores: put together from pieces, and shown without their passwords."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

HIDDEN = "***"
EMBEDDED = frozenset({"memory", "sqlite", "valkey+embedded"})
SERVERS = frozenset({"redis", "rediss", "valkey", "valkeys", "redlock", "redlocks"})
SENTINELS, CLUSTERS = "+sentinel", "+cluster"

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*(?=://)")
_PLAIN = re.compile(
    r"(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]*://)"
    r"(?:(?P<user>[^:@/?#\s]*)(?P<secret>:[^@/?#\s]*)?@)?"
    r"(?P<place>[^@?#]*)(?P<options>\?[^@#]*)?"
)
_SECRET_OPTION = re.compile(r"(?i)([?&][^=&]*(?:pass|secret|token|auth|pwd)[^=&]*=).*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Login:
    """Who we are to a server, and which of its databases we use; `None` is not said."""

    username: str | None = None
    password: str | None = field(default=None, repr=False)
    database: int | None = None


def masked(url: str) -> str:
    """The URL as people may see it. One that is not written as it should be shows nothing but its scheme."""
    plain = _PLAIN.fullmatch(url)
    if plain is None:
        scheme = _SCHEME.match(url)
        return f"{scheme[0]}://{HIDDEN}" if scheme else HIDDEN
    login = ""
    if plain["user"] is not None:
        login = f"{plain['user']}:{HIDDEN}@" if plain["secret"] is not None else f"{HIDDEN}@"
    options = _SECRET_OPTION.sub(rf"\1{HIDDEN}", plain["options"] or "")
    return f"{plain['scheme']}{login}{plain['place']}{options}"


def is_embedded(url: str) -> bool:
    """Whether it names a store of this machine or this process alone."""
    return url.partition("://")[0].lower() in EMBEDDED


def assembled(host: str, port: int, *, login: Login) -> str:
    """The URL of a server that is named in pieces."""
    return f"redis://{_login(login)}{host}:{port}/{login.database or 0}"


def with_login(url: str, login: Login) -> str:
    """A server's URL with a user, a password and a database that were said apart from it."""
    plain = _PLAIN.fullmatch(url)
    if plain is None or login == Login():
        return url
    kind, _, topology = plain["scheme"].lower().removesuffix("://").partition("+")
    if kind not in SERVERS or f"+{topology}" not in ("+", SENTINELS, CLUSTERS):
        return url
    place = _of_database(plain["place"], f"+{topology}", login.database)
    had = f"{plain['user']}{plain['secret'] or ''}@" if plain["user"] is not None else ""
    return f"{plain['scheme']}{_login(login) or had}{place}{plain['options'] or ''}"


def _of_database(place: str, topology: str, database: int | None) -> str:
    """The place with that database: of sentinels it comes last; of several servers the first has it, for all."""
    if database is None or (topology == CLUSTERS and not database):
        return place
    if topology == SENTINELS:
        hosts, _, path = place.partition("/")
        return f"{hosts}/{path.partition('/')[0]}/{database}"
    first, comma, others = place.partition(",")
    return f"{first.partition('/')[0]}/{database}{comma}{others}"


def _login(login: Login) -> str:
    if not (login.username or login.password):
        return ""
    from urllib.parse import quote  # noqa: PLC0415 - needed by few, and brings in a lot

    secret = f":{quote(login.password, safe='')}" if login.password else ""
    return f"{quote(login.username or '', safe='')}{secret}@"
