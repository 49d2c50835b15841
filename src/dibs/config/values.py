"""How a value is read, whoever wrote it: a shell, a file or a program. What cannot be read is told with what can."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from dibs.model.duration import seconds, spoken
from dibs.model.names import namespace_fault, text_fault

if TYPE_CHECKING:
    from collections.abc import Callable

WordT = TypeVar("WordT", bound=str)

HIGHEST_PORT = 65535
HIGHEST_DATABASE = 1_000_000

_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"0", "false", "no", "off"})
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_HOST = re.compile(r"[^\s:/?#@\[\]]+|\[[0-9a-fA-F:.%]+\]")
_BARE_IPV6 = re.compile(r"[0-9a-fA-F]*:[0-9a-fA-F.]*:[0-9a-fA-F:.%]*")
_INJECTED = re.compile(r"tcp://(?P<host>[^\s:/?#@\[\]]+|\[[0-9a-fA-F:.%]+\]):(?P<port>[0-9]+)")


def yes_or_no(value: object) -> bool:
    """A switch."""
    word = str(value).strip().lower() if isinstance(value, bool | int | str) else ""
    if word not in _YES | _NO:
        raise ValueError("say 1 or 0 (or true and false, yes and no, on and off)")
    return word in _YES


def word(*allowed: WordT) -> Callable[[object], WordT]:
    """One of a few words."""

    def read(value: object) -> WordT:
        said = value.strip().lower() if isinstance(value, str) else value
        for one in allowed:
            if said == one:
                return one
        raise ValueError(f"say one of {', '.join(allowed)}")

    return read


def duration(least: float, most: float, *, unit: str = "s") -> Callable[[object], float]:
    """A span of time within bounds; a bare number counts in this unit."""

    def read(value: object) -> float:
        said = value.strip() if isinstance(value, str) else value
        if not isinstance(said, bool) and _NUMBER.fullmatch(str(said)):
            said = f"{said}{unit}"
        try:
            span = seconds(said)
        except ValueError:
            span = -1.0
        if not least <= span <= most:
            bare = "seconds" if unit == "s" else "milliseconds"
            raise ValueError(
                f"give a duration from {spoken(least)} to {spoken(most)}, such as '45s' or '1h30m' "
                f"(a bare number counts {bare})"
            )
        return span

    return read


def text(value: object) -> str:
    """Some text."""
    if not isinstance(value, str):
        raise ValueError("give text (in a file, in quotes)")
    return value


def namespace(value: object) -> str:
    """What the keys begin with."""
    if fault := namespace_fault(value):
        raise ValueError(fault)
    return str(value)


def version(value: object) -> str:
    """Which version of a program this is."""
    if fault := text_fault(value, what="a version"):
        raise ValueError(f"{fault} (in a file, put it in quotes)")
    return str(value)


def url(value: object) -> str:
    """A store's URL; which there are, the stores know."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("name a store by its URL, as in 'redis://host', or leave it out for the embedded one")
    return value


def host(value: object) -> str:
    """A server's name or address, as it stands in a URL."""
    said = value.strip() if isinstance(value, str) else ""
    if _BARE_IPV6.fullmatch(said):
        return f"[{said}]"
    if not _HOST.fullmatch(said):
        raise ValueError("give the name or the address of one server and nothing else (REDIS_URL takes a whole URL)")
    return said


def port(value: object) -> int:
    """A server's port."""
    number = _whole(value)
    if not 1 <= number <= HIGHEST_PORT:
        raise ValueError(f"give a port from 1 to {HIGHEST_PORT}")
    return number


def database(value: object) -> int:
    """Which of a server's databases."""
    number = _whole(value)
    if not 0 <= number <= HIGHEST_DATABASE:
        raise ValueError("give the number of a database, which is 0 on most servers")
    return number


def count(value: object) -> int:
    """How often."""
    number = _whole(value)
    if number < 0:
        raise ValueError("give a whole number, 0 for none")
    return number


def injected(value: object) -> tuple[str, int] | None:
    """Host and port, where it is not a port but `tcp://host:port`: so Kubernetes tells of a service called redis."""
    found = _INJECTED.fullmatch(value) if isinstance(value, str) else None
    if found is None or not 1 <= _whole(found["port"]) <= HIGHEST_PORT:
        return None
    return found["host"], port(found["port"])


def _whole(value: object) -> int:
    """The number, or one that is nobody's."""
    said = str(value).strip()
    is_whole = not isinstance(value, bool) and said.isascii() and said.isdigit() and len(said) <= len("1000000000")
    return int(said) if is_whole else -1
