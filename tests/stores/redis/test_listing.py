"""The names of the locks that are in use: what the server keeps of them, so that nobody must search for them."""

from __future__ import annotations

from collections.abc import Callable

import dibs
from tests.servers.server import Server

INDEX = "dibs:~index"


def leave_name(server: Server, name: str) -> None:
    """As of a holder that has crashed long ago."""
    server.ask("ZADD", INDEX, "1", f"dibs:{name}")


def test_who_lists_locks_drops_the_names_of_those_whose_holders_crashed(server: Server) -> None:
    with dibs.connect(server.url, quiet=True) as d, d.lock("a", renew=False):
        leave_name(server, "b")
        assert [view.name for view in d.locks()] == ["a"]
        assert server.ask("ZRANGE", INDEX, "0", "-1") == ["dibs:a"]


def test_locks_can_be_listed_where_nothing_can_be_written(start_server: Callable[..., Server]) -> None:
    server = start_server()
    with dibs.connect(server.url, quiet=True) as d, d.lock("a", renew=False):
        leave_name(server, "b")
        server.ask("CONFIG", "SET", "min-replicas-to-write", "1")
        assert [view.name for view in d.locks()] == ["a"]
        server.ask("CONFIG", "SET", "min-replicas-to-write", "0")
