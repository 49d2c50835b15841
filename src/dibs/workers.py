"""How a client stands ready for work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.errors import ConfigError
from dibs.model.request import LONGEST_TTL, SHORTEST_TTL
from dibs.options import between, request

if TYPE_CHECKING:
    from dibs.config import Config
    from dibs.model.duration import Duration
    from dibs.model.rounds import StatusLevel
    from dibs.ports.wire import Backend, OwnClient
    from dibs.runtime.engine import Engine
    from dibs.worker import Worker

MOST_ATTEMPTS = 1_000_000


class Workers:
    """How many stand ready for the same work, one tries, and another takes over."""

    config: Config
    _engine: Engine

    def worker(  # noqa: PLR0913 - all that can be said of a worker, by name
        self,
        key: str,
        *,
        lock_timeout: Duration = 5,
        max_attempts: int = 5,
        status_level: StatusLevel | None = None,
        max_hold: Duration | None = None,
        purpose: str = "",
        client: OwnClient | None = None,
        host: str | None = None,
        port: int | None = None,
    ) -> Worker:
        """One that stands ready for what is done under this lock: see `worker.on_acquired` and `worker.acquire()`.

        `lock_timeout` is how soon another takes over when a worker has died; one that lives is overtaken only after
        `max_hold`. By `client`, or `host` and `port`, it has another server of its own, until it is closed.
        """
        from dibs.model.rounds import StatusLevel, sheet_of  # noqa: PLC0415 - needed by few
        from dibs.worker import Rules, Worker  # noqa: PLC0415 - as above

        ttl = between("lock_timeout", lock_timeout, SHORTEST_TTL, LONGEST_TTL)
        wish = request(key, {"ttl": ttl, "max_hold": max_hold, "purpose": purpose})
        _refuse_miscounted(max_attempts)
        level = StatusLevel.NORMAL if status_level is None else _level(status_level)
        owned = self._own(client, host, port)
        engine = owned or self._engine.detours.for_jobs
        engine.refuse_where_many_vote("workers", sheet=sheet_of(key))
        rules = Rules(engine, wish, max_attempts)
        return Worker(rules, level=level, owned=owned)

    def _own(self, client: OwnClient | None, host: str | None, port: int | None) -> Engine | None:
        """What runs on the server that was named for this worker alone, if one was."""
        if client is not None and (host is not None or port is not None):
            raise ConfigError(f"client={client!r} and host={host!r}, port={port!r}: name the server by one of them")
        if client is not None:
            return self._engine.beside(_opened(client, self.config))
        if host is None and port is None:
            return None
        return self._engine.beside(_at(host, port, self.config))


def _opened(client: OwnClient, config: Config) -> Backend:
    from dibs.stores import open_client  # noqa: PLC0415 - needed by few

    if not hasattr(client, "connection_pool"):
        raise ConfigError(f"client={client!r}: give a redis.Redis of one server, or host= and port=")
    return open_client(client, retry_interval=config.retry_interval)


def _at(host: str | None, port: int | None, config: Config) -> Backend:
    from dibs.config import values  # noqa: PLC0415 - needed by few
    from dibs.stores import open_store  # noqa: PLC0415 - as above

    try:
        place = f"{values.host('localhost' if host is None else host)}:{values.port(6379 if port is None else port)}"
    except ValueError as fault:
        raise ConfigError(f"host={host!r}, port={port!r}: {fault}") from None
    return open_store(f"redis://{place}", retry_interval=config.retry_interval)


def _level(status_level: object) -> StatusLevel:
    from dibs.model.rounds import StatusLevel  # noqa: PLC0415 - needed by few

    if not isinstance(status_level, StatusLevel):
        raise ConfigError(f"status_level={status_level!r}: say dibs.StatusLevel.NORMAL or dibs.StatusLevel.VERBOSE")
    return status_level


def _refuse_miscounted(max_attempts: object) -> None:
    if isinstance(max_attempts, bool) or not isinstance(max_attempts, int) or not 1 <= max_attempts <= MOST_ATTEMPTS:
        raise ConfigError(f"max_attempts={max_attempts!r}: give a whole number from 1 to {MOST_ATTEMPTS:,}")
