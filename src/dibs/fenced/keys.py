"""The door to Redis and Valkey: `fenced.redis`."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from importlib.resources import files
from typing import Any, Protocol, TypeAlias, overload

from dibs.errors import ConfigError, StaleFence
from dibs.fenced.claim import Claim, Fenced, claim
from dibs.model.duration import Duration, seconds
from dibs.model.names import is_tagged

Key: TypeAlias = str | bytes
Value: TypeAlias = str | bytes | int | float

SIDE = "~fence"
MOST_WORDS = 7_000
"""How many words a script can pass on."""


class BlockingClient(Protocol):
    """A client of redis-py, or of valkey-py."""

    def execute_command(self, *words: Any, **options: Any) -> Any: ...

    def close(self) -> None: ...


class AsyncClient(Protocol):
    """The same for asyncio."""

    def execute_command(self, *words: Any, **options: Any) -> Awaitable[Any]: ...

    def aclose(self) -> Awaitable[None]: ...


@overload
def redis(
    client: AsyncClient, lease: Fenced, *, resource: str | None = None, keep: Duration | None = None
) -> AsyncWrites: ...


@overload
def redis(
    client: BlockingClient, lease: Fenced, *, resource: str | None = None, keep: Duration | None = None
) -> Writes: ...


def redis(
    client: Any, lease: Fenced, *, resource: str | None = None, keep: Duration | None = None
) -> Writes | AsyncWrites:
    """Fenced writes by a client of yours: each is refused with `StaleFence` if a newer holder has written that key.

    With a `resource`, all that is written under that name has one fence, instead of one for each key. Fences are
    remembered for ever, or for as long after the last write as `keep` says.
    """
    if not hasattr(client, "execute_command") or hasattr(client, "command_stack"):
        raise ConfigError(f"{type(client).__name__} cannot tell what became of a write: pass the redis.Redis itself")
    terms = _Terms(claim(lease, resource), has_resource=resource is not None, keep=_ms("keep", keep))
    return AsyncWrites(client, terms) if hasattr(client, "aclose") else Writes(client, terms)


class Writes:
    """Writes under a fence, which either are made or raise `StaleFence`."""

    def __init__(self, client: BlockingClient, terms: _Terms) -> None:
        self._client, self._terms = client, terms

    def set(self, key: Key, value: Value, *, ttl: Duration | None = None) -> None:
        """Set a key, for good or for a time."""
        self.write("SET", key, value, *_px(ttl))

    def hset(self, key: Key, fields: Mapping[Any, Value]) -> int:
        """Set fields of a hash; gives how many of them are new."""
        return int(self.write("HSET", key, *_flat(fields)))

    def delete(self, key: Key) -> bool:
        """Delete a key; gives whether there was one. Its fence stays, or a late write could bring it back."""
        return bool(self.write("DEL", key))

    def write(self, command: str, key: Key, *words: Value) -> Any:
        """Any other command that writes one key, as in `write("INCRBY", "stock:42", -1)`; gives what it gives."""
        return self._terms.read(self._client.execute_command(*self._terms.words(command, key, words)))


class AsyncWrites:
    """Writes under a fence, which either are made or raise `StaleFence`."""

    def __init__(self, client: AsyncClient, terms: _Terms) -> None:
        self._client, self._terms = client, terms

    async def set(self, key: Key, value: Value, *, ttl: Duration | None = None) -> None:
        """Set a key, for good or for a time."""
        await self.write("SET", key, value, *_px(ttl))

    async def hset(self, key: Key, fields: Mapping[Any, Value]) -> int:
        """Set fields of a hash; gives how many of them are new."""
        return int(await self.write("HSET", key, *_flat(fields)))

    async def delete(self, key: Key) -> bool:
        """Delete a key; gives whether there was one. Its fence stays, or a late write could bring it back."""
        return bool(await self.write("DEL", key))

    async def write(self, command: str, key: Key, *words: Value) -> Any:
        """Any other command that writes one key, as in `write("INCRBY", "stock:42", -1)`; gives what it gives."""
        return self._terms.read(await self._client.execute_command(*self._terms.words(command, key, words)))


class _Terms:
    """How a write is worded, and what its answer means."""

    def __init__(self, claim: Claim, *, has_resource: bool, keep: int) -> None:
        self._claim, self._has_resource, self._keep = claim, has_resource, keep
        self._script = files("dibs.fenced").joinpath("write.lua").read_bytes()

    def words(self, command: object, key: Key, words: tuple[object, ...]) -> tuple[object, ...]:
        if not isinstance(command, str) or not command.isalpha():
            raise ConfigError(f"command={command!r}: name one that writes a single key, as in 'INCRBY'")
        _refuse_odd(words)
        side = _side(self._claim.resource) if self._has_resource else _side(_checked_key(key))
        terms = (b"%d" % self._claim.fence, b"%d" % self._keep, command.encode())
        return ("EVAL", self._script, 2, _checked_key(key), side, *terms, *words)

    def read(self, reply: Any) -> Any:
        is_done, given = reply
        if not is_done:
            raise StaleFence(self._claim.resource, fence=self._claim.fence, newest=int(given))
        return given


def _side(key: Key) -> Key:
    """Where a key's fence is: in the same slot of a cluster, as with all that dibs keeps beside a key."""
    if isinstance(key, bytes):
        return str(_side(key.decode("latin-1"))).encode("latin-1")
    if "}" in key and not is_tagged(key):
        raise ConfigError(f"{key!r}: a '}}' must end a {{tag}}, or its fence would be in another slot of a cluster")
    return f"{key}{SIDE}" if is_tagged(key) else f"{{{key}}}{SIDE}"


def _checked_key(key: object) -> Key:
    if not isinstance(key, str | bytes) or not key:
        raise ConfigError(f"key={key!r}: a key is text or bytes, and not empty")
    if key.endswith(SIDE) if isinstance(key, str) else key.endswith(SIDE.encode()):
        raise ConfigError(f"key={key!r}: what ends in {SIDE!r} is the fence of another key")
    return key


def _refuse_odd(words: tuple[object, ...]) -> None:
    if len(words) > MOST_WORDS:
        raise ConfigError(
            f"{len(words)} words are too many for one write; there may be {MOST_WORDS}, so write in parts"
        )
    for word in words:
        if isinstance(word, bool) or not isinstance(word, str | bytes | int | float):
            raise ConfigError(f"{word!r} cannot be stored: give text, bytes or a number")


def _flat(fields: Mapping[Any, Value]) -> list[Any]:
    if not fields:
        raise ConfigError(f"fields={fields!r}: name at least one field and its value")
    return [word for field in fields.items() for word in field]


def _px(ttl: Duration | None) -> tuple[Value, ...]:
    return () if ttl is None else ("PX", _ms("ttl", ttl))


def _ms(option: str, duration: Duration | None) -> int:
    """In milliseconds, as the server counts; 0 stands for no end."""
    if duration is None:
        return 0
    try:
        count = int(seconds(duration) * 1000)
    except ValueError as fault:
        raise ConfigError(f"{option}: {fault}") from None
    if count < 1:
        raise ConfigError(f"{option}={duration!r}: at least a millisecond, or leave it out")
    return count
