"""URLs that name several servers."""

from __future__ import annotations

from typing import Any, cast

import redis.connection

from dibs.errors import ConfigError


def options_of(url: str, form: str) -> dict[str, Any]:
    """What a URL with one host instead of several says to redis-py, but for that host."""
    try:
        options: dict[str, Any] = dict(cast("Any", redis.connection).parse_url(url))
    except ValueError:  # its text may repeat a part of the password
        raise ConfigError(
            f"that URL cannot be read: write {form}, and marks such as / ? # @ in a password as %2F %3F %23 %40"
        ) from None
    for word in ("connection_class", "host", "port"):
        options.pop(word, None)
    return options


def address_of(text: str, port: int, form: str) -> tuple[str, int]:
    """A host, with its port if that is said; an address of IPv6 stands in brackets."""
    inside, bracket, after = text.removeprefix("[").rpartition("]") if text.startswith("[") else ("", "", text)
    host, colon, said = (inside, *after.partition(":")[1:]) if bracket else text.partition(":")
    if not host or (colon and not said.isdecimal()):
        raise ConfigError(f"a server in that URL has no address: write {form}")
    return host, int(said) if colon else port
