"""Owners that left while an ask of theirs was on its way: what the server remembers of them, and for how long."""

from __future__ import annotations

from time import monotonic

from dibs.flows.desk import Desk
from dibs.model.asks import Leave
from dibs.stores import open_store
from tests.servers.server import Server

BARS = "{dibs:a}~bars"
PATIENCE = 5.0


def test_a_bar_that_is_over_is_forgotten_when_the_next_is_put_up(server: Server) -> None:
    backend = open_store(server.url)
    locks = backend.locks("dibs")
    wire = backend.blocking(Desk(locks, backend.server, lambda _: None, "me", lambda: None), monotonic)
    try:
        at = locks.time().read(wire.send(locks.time().words, 0, PATIENCE).value)
        for owner, until in {"ann": at + 10.0, "bob": at + 20.0}.items():
            server.ask("ZADD", BARS, "1", f"{owner} long ago")
            wire.send(locks.leave("a", Leave(owner, until)).words, 0, PATIENCE)
        assert server.ask("ZRANGE", BARS, "0", "-1") == ["ann", "bob"]
        assert 10_000 < server.ask("PTTL", BARS) <= 20_001
    finally:
        wire.close()
