"""The roles of programs that share a server."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from dibs import DibsError
from dibs.stores.embedded import Folder, lease_server, server
from tests.chaos.actor import say, told
from tests.chaos.children import descriptors, ended_well, in_a_fork
from tests.chaos.users import be
from tests.stores.embedded.household import said_by, server_of


def use(folder: str) -> None:
    """Have a share until told to leave, and live on a little."""
    say("here")
    told("start")
    lease = lease_server(Folder(Path(folder)))
    say("in", server_of(lease))
    told("leave")
    lease.close()
    say("out")
    told("end")


def use_again(folder: str) -> None:
    """Go on with the same share after something has happened."""
    lease = lease_server(Folder(Path(folder)))
    said_by(lease.socket_path, "SET kept 1")
    say("in", server_of(lease))
    told("again")
    lease.revive()
    say("in", server_of(lease), said_by(lease.socket_path, "GET kept"))
    told("leave")
    lease.close()


def come_and_go(folder: str, times: int) -> None:
    """Each time the server must be there for as long as we are, whoever leaves just then; at times it is ending."""
    seen = set[int]()
    for turn in range(times):
        lease = lease_server(Folder(Path(folder)), within=30)
        for _ in range(20):
            seen.add(server_of(lease))
        lease.close()
        until = time.monotonic() + turn % 8 / 1000
        while time.monotonic() < until:
            pass
    say("done", len(seen))


def start_slowly(folder: str, program: str) -> None:
    """Start a server that is long in coming."""
    run_instead(program)
    say("starting")
    lease = lease_server(Folder(Path(folder)), within=30)
    say("in")
    told("leave")
    lease.close()


def run_instead(program: str) -> None:
    setattr(server, "valkey_binary", lambda: Path(program))  # noqa: B010 - it is not the module's to give away


def outlive_a_parent(folder: str) -> None:
    """Fork a child that takes a share of its own."""
    lease = lease_server(Folder(Path(folder)))

    def live() -> None:
        told("child")
        lease.revive()
        say("child in", server_of(lease))
        told("leave")
        lease.close()
        say("child out")
        told("end")

    say("forked", in_a_fork(live))
    signal.pause()


def leave_a_child_behind(folder: str) -> None:
    """The parent leaves; its children live on, forked or started, and had no share of their own."""
    lease = lease_server(Folder(Path(folder)))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False) as started:
        child = in_a_fork(lambda: told("end"))
        lease.close()
        say("out")
        assert os.waitpid(child, 0)[1] == 0
        started.communicate(b"\n")


def have_a_child_that_closes(folder: str) -> None:
    """What a child does with the lease of its parent is nothing to the parent."""
    lease = lease_server(Folder(Path(folder)))
    assert ended_well(in_a_fork(lease.close), in_a_fork(gc.collect))
    say("in", server_of(lease))
    told("leave")
    assert server_of(lease)


def fork_while_it_starts(folder: str, program: str) -> None:
    """A child made while another thread is at the door must not keep the door."""
    run_instead(program)
    starter = threading.Thread(target=lambda: lease_server(Folder(Path(folder)), within=30).close())
    starter.start()
    told("fork")

    def live() -> None:
        say("forked", [name for name in descriptors() if folder in name])
        told("end")

    child = in_a_fork(live)
    starter.join()
    say("out")
    assert ended_well(child)


def try_as(user: int, folder: str) -> None:
    """As one who may not do everything."""
    be(user)
    try:
        lease_server(Folder(Path(folder)))
    except DibsError as error:
        say(type(error).__name__, str(error))
