"""What Redisson's own configuration means here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.config.markup import flat, yaml_tables
from dibs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "redisson."
CONFIG = f"{PREFIX}config"

_MANY_SERVERS = ("clusterservers", "masterslaveservers", "replicatedservers", "sentinelservers")


def opened(found: Mapping[str, object], label: str) -> dict[str, object]:
    """The same keys, with those that `redisson.config` has as a text of YAML."""
    keys = dict(found)
    text = keys.pop(CONFIG, None)
    if text is not None and not isinstance(text, str):
        raise ConfigError(f"file {label}, key {CONFIG}={text!r}: give a table with singleServerConfig, or YAML as text")
    for table in yaml_tables(text, f"{label}, key {CONFIG},") if text else ():
        keys |= {f"{CONFIG}.{key}": value for key, value in flat(table).items()}
    for key in keys:
        if key.lower().startswith(tuple(f"{CONFIG}.{many}" for many in _MANY_SERVERS)):
            raise ConfigError(
                f"file {label}, key {key}: dibs talks to one server; name it with singleServerConfig, redis.host or url"
            )
    return keys


def notice(key: str, label: str) -> str:
    """What is to be told of a key that is accepted and does nothing."""
    word = key.rpartition(".")[2]
    is_of_a_pool = "pool" in word.lower() or "idle" in word.lower()
    reason = "dibs keeps no pool of connections" if is_of_a_pool else "dibs has nothing like it"
    return f"file {label}, key {key} is ignored: {reason}"
