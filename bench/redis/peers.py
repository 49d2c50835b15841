"""Those who lock on Redis: ourselves, the others, and the floors. The others are in a venv of their own, if at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version

OURS = THREAD, TASK = "redis://", "redis:// asyncio"
"""Ourselves, in both colours."""

REDIS_PY, REDIS_PY_ASYNCIO = "redis-py", "redis-py asyncio"
POTTERY, POTTERY_ASYNCIO = "pottery", "pottery asyncio"
PYTHON_REDIS_LOCK, REDLOCK_PY, SHERLOCK = "python-redis-lock", "redlock-py", "sherlock"
COREDIS = "coredis asyncio"
NODE = "node-redlock"

FLOORS = RAW_THREAD, RAW_TASK, PING_PONG = "raw socket", "raw asyncio", "C ping-pong"
"""No locks: what the same two commands take with nothing around them."""

PACKAGES = {
    REDIS_PY: "redis",
    REDIS_PY_ASYNCIO: "redis",
    POTTERY: "pottery",
    POTTERY_ASYNCIO: "pottery",
    PYTHON_REDIS_LOCK: "python-redis-lock",
    REDLOCK_PY: "redlock-py",
    SHERLOCK: "sherlock",
    COREDIS: "coredis",
}
"""Where those come from that are written in Python."""

WIRE = ("redis", "hiredis")
"""What we ourselves stand on, as most of the others do."""

NOT_COMPARED = "not measured: redlock-ng, which wants redis-py below 6 and takes the place of redlock-py's module"


def here(contenders: Iterable[str]) -> list[str]:
    """Those of them that are written in Python and can run: ours and the floors need nothing that is not there."""
    return [name for name in contenders if name not in PACKAGES or _version(PACKAGES[name]) is not None]


def missing() -> list[str]:
    """The packages that are not here."""
    return [package for package in _packages() if _version(package) is None]


def versions() -> Sequence[str]:
    """Name and version of each that is here."""
    return [f"{package} {found}" for package in _packages() if (found := _version(package)) is not None]


def _packages() -> list[str]:
    return [*dict.fromkeys((*WIRE, *PACKAGES.values()))]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
