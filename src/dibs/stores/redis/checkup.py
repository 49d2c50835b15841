"""How a server is set up, as it says itself, and what of that may cost locks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

OLDEST = (6, 2)


def findings(info: bytes | str) -> Sequence[str]:
    """What to do about its answer to INFO; nothing if all is well."""
    facts = _facts(info.decode(errors="replace") if isinstance(info, bytes) else info)
    policy = facts.get("maxmemory_policy", "noeviction")
    found: list[str] = []
    if policy.startswith("allkeys") and facts.get("maxmemory", "0") != "0":
        found.append(f"it drops keys when it is full: set maxmemory-policy to noeviction (it is {policy})")
    if facts.get("aof_enabled") == "0":
        found.append("what it has not saved is lost when it crashes: set appendonly to yes")
    if facts.get("role", "master") != "master":
        found.append("it is a replica, which takes no writes: name its master")
    version = facts.get("valkey_version") or facts.get("redis_version", "")
    if (known := re.match(r"(\d+)\.(\d+)", version)) and tuple(map(int, known.groups())) < OLDEST:
        found.append(f"{version} is old: use {'.'.join(map(str, OLDEST))} or newer")
    return found


def _facts(info: str) -> Mapping[str, str]:
    pairs = (line.partition(":") for line in info.splitlines() if not line.startswith("#"))
    return {name: fact for name, _, fact in pairs}
