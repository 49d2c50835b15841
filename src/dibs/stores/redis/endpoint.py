"""One server, and how redis-py reaches it: its URL, its passwords and its TLS are redis-py's business."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any, cast

import redis
import redis.asyncio
import redis.asyncio.sentinel
import redis.connection
import redis.sentinel
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, BusyLoadingError, NoPermissionError, RedisError, ResponseError
from redis.retry import Retry

from dibs.errors import ConfigError, StoreRefused
from dibs.stores.redis.dialogue import NOT_DONE

if TYPE_CHECKING:
    from redis.asyncio.connection import AbstractConnection as AsyncConnection
    from redis.connection import AbstractConnection as BlockingConnection

RESP2 = 2
SCHEMES = {"redis": "redis", "rediss": "rediss", "valkey": "redis", "valkeys": "rediss", "unix": "unix"}
_OURS = (
    "driver_info",
    "lib_name",
    "lib_version",
    "retry",
    "retry_on_error",
    "retry_on_timeout",
    "health_check_interval",
    "decode_responses",
    "protocol",
)
"""What redis-py may be told and is none of its business here: we never send twice, and read by ourselves."""


_SAY_LITTLE: Mapping[str, None] = dict.fromkeys(
    ("driver_info",)
    if "driver_info" in signature(redis.connection.AbstractConnection.__init__).parameters
    else ("lib_name", "lib_version")
)
"""Has redis-py not introduce itself, which would take two more round trips."""
_WORDS = {AuthenticationError: "WRONGPASS", NoPermissionError: "NOPERM", BusyLoadingError: "LOADING"}
"""What the server has said, where redis-py tells it by the class of its error."""
FULL = "max number of clients reached"
"""A server's answer, too, that redis-py takes for a failed connection."""
_OF_A_POOL = ("maint_", "maintenance_", "orig_", "oss_")
"""What a pool tells the connections that it makes for itself."""


class Endpoint:
    """A server's address, and what it is told when a connection is made."""

    def __init__(
        self, options: Mapping[str, Any], *, server: str, tls: bool, retry_interval: float | None = None
    ) -> None:
        self.server, self._tls, self.retry_interval = server, tls, retry_interval
        self._options = {
            name: value for name, value in options.items() if name not in _OURS and not name.startswith(_OF_A_POOL)
        }
        self.resp = int(options.get("protocol") or 3)

    @property
    def tells_askers(self) -> bool:
        """Whether a connection that asks is told things, too; before RESP3 that takes another one."""
        return self.resp > RESP2

    def refuse_unknown(self) -> None:
        """See that redis-py knows all its options; nothing is opened for that."""
        try:
            self._kind(redis.connection)(**self._all(1.0))
        except (TypeError, ValueError, RedisError) as error:
            raise ConfigError(f"{self.server} cannot be reached like that: {error}") from None

    def close(self) -> None:
        """A line was hung up. An address is nothing that would have to be given back."""

    def connect(self, within: float) -> tuple[BlockingConnection, socket.socket]:
        """A connection for threads, made within so many seconds."""
        connection = self._kind(redis.connection)(**self._all(within), retry=Retry(NoBackoff(), 0))
        try:
            connection.connect()
        except ResponseError as error:
            if self._speaks_less(error):
                return self.connect(within)
            raise self.refused(error) from error
        except (RedisError, OSError) as error:
            raise self.refused(error) from error
        return connection, connection._sock  # noqa: SLF001 - redis-py opens it, and we talk on it

    async def aconnect(self, within: float) -> AsyncConnection:
        """A connection for the running event loop."""
        from redis.asyncio import connection as kinds  # noqa: PLC0415 - only where a loop runs is asyncio needed
        from redis.asyncio.retry import Retry as AsyncRetry  # noqa: PLC0415

        connection = self._kind(kinds)(**self._all(within), retry=AsyncRetry(NoBackoff(), 0))
        try:
            await connection.connect()
        except ResponseError as error:
            if self._speaks_less(error):
                return await self.aconnect(within)
            raise self.refused(error) from error
        except (RedisError, OSError) as error:
            raise self.refused(error) from error
        return cast("AsyncConnection", connection)

    def refused(self, error: Exception) -> StoreRefused:
        """What to tell when no connection can be had: nothing was asked yet."""
        why = str(error) or type(error).__name__
        for kind, word in _WORDS.items():
            if isinstance(error, kind):
                return StoreRefused(self.server, after=0.0, why=why, fix=NOT_DONE[word], is_outage=False)
        has_answered = isinstance(error, ResponseError) or FULL in why
        return StoreRefused(self.server, after=0.0, why=why, is_outage=not has_answered)

    def _kind(self, kinds: Any) -> Any:
        """The class of its connections, in redis-py's room for this colour."""
        if "path" in self._options:
            return kinds.UnixDomainSocketConnection
        return kinds.SSLConnection if self._tls else kinds.Connection

    def _all(self, within: float) -> dict[str, Any]:
        half = within / 2  # once for the way there, and once for the greeting
        limits = {"socket_timeout": half, "socket_connect_timeout": half}
        return {**self._options, **limits, **_SAY_LITTLE, "protocol": self.resp}

    def _speaks_less(self, error: ResponseError) -> bool:
        """Whether the server knows only RESP2, and is to be talked to like that from now on."""
        text = str(error).lower()
        is_old = self.resp > RESP2 and ("hello" in text or "noproto" in text or "unknown command" in text)
        if is_old:
            self.resp = RESP2
        return is_old


def hang_up(connection: BlockingConnection) -> None:
    """Close a thread's connection; in a forked child, let go of it."""
    cast("Any", connection).disconnect()


def endpoint(url: str, retry_interval: float | None = None) -> Endpoint:
    """The server that a URL names."""
    scheme, _, rest = url.partition("://")
    known = SCHEMES[scheme.lower()]
    try:
        options: dict[str, Any] = dict(cast("Any", redis.connection).parse_url(f"{known}://{rest}"))
    except ValueError:  # its text may repeat a part of the password
        raise ConfigError(
            "that URL names no server: write redis://[user:password@]host[:port][/db], and marks such as / ? # @ in a "
            "password as %2F %3F %23 %40"
        ) from None
    options.pop("connection_class", None)
    server, tls = _shown(scheme.lower(), options), known == "rediss"
    found = Endpoint(options, server=server, tls=tls, retry_interval=retry_interval)
    found.refuse_unknown()
    return found


def endpoint_of(client: Any, retry_interval: float | None = None) -> Endpoint:
    """The server that somebody's own redis-py client talks to, blocking or asyncio."""
    pool = getattr(client, "connection_pool", None)
    if not isinstance(pool, (redis.ConnectionPool, redis.asyncio.ConnectionPool)):
        raise ConfigError(f"{type(client).__name__} names no store: give a URL, or a redis.Redis of one server")
    if isinstance(pool, (redis.sentinel.SentinelConnectionPool, redis.asyncio.sentinel.SentinelConnectionPool)):
        raise ConfigError(
            f"this {type(client).__name__} finds its server by itself: give its URL instead, as in redis+sentinel://host/service"
        )
    options = dict(pool.connection_kwargs)
    tls = issubclass(pool.connection_class, (redis.SSLConnection, redis.asyncio.SSLConnection))
    server = _shown("rediss" if tls else "redis", options)
    return Endpoint(options, server=server, tls=tls, retry_interval=retry_interval)


def _shown(scheme: str, options: Mapping[str, Any]) -> str:
    """As people may see it: without passwords."""
    if "path" in options:
        return f"unix://{options['path']}"
    database = f"/{options['db']}" if options.get("db") else ""
    return f"{scheme}://{options.get('host', 'localhost')}:{options.get('port', 6379)}{database}"
