"""The roles of programs that start a server, and do not live to stop it."""

from __future__ import annotations

import os

from tests.chaos.actor import say, told
from tests.servers.kinds import KINDS
from tests.servers.server import Server
from tests.servers.watchdog import watchdog


def start_a_server(kind: str) -> None:
    """Start one, and wait for the worst."""
    server = Server(next(each for each in KINDS if each.name == kind))
    server.start()
    say("started", server.pid, watchdog().pid, str(server.socket.parent))
    told("end")


def start_a_server_and_fork(kind: str) -> None:
    """Start one, and leave behind a child that outlives us."""
    server = Server(next(each for each in KINDS if each.name == kind))
    server.start()
    if os.fork():
        say("started", server.pid, watchdog().pid, str(server.socket.parent))
    told("end")
