"""The roles of programs that name no store, and of those that are not allowed to do everything."""

from __future__ import annotations

import logging
import os
import sys
from importlib import import_module
from pathlib import Path

import dibs
from dibs.stores.sqlite.location import location
from tests.chaos.actor import say, told

NOBODY = 65534
NOT_IN_ANY_LIST = 54321
LATER = (
    "asyncio",
    "ctypes",
    "dibs.runtime.aio",
    "dibs.stores.sqlite",
    "concurrent.futures.thread",
    "tempfile",
    "pwd",
    "sqlite3",
)
"""What is imported only when it is needed: another user may not be able to read it."""


def be(user: int) -> None:
    """From now on another user, if we are one who may do everything; an ordinary one is what we are otherwise."""
    for module in LATER:
        import_module(module)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


class Lines(logging.Handler):
    """Says every line that is logged."""

    def emit(self, record: logging.LogRecord) -> None:
        say("log", record.levelname, record.getMessage())


def name_no_store(user: int | None) -> None:
    """Connect twice, and use what is there."""
    if user is not None:
        be(user)
    logging.getLogger("dibs").addHandler(Lines())
    os.umask(0)
    try:
        d = dibs.connect()
        with dibs.connect().lock("a"):
            say("in", modes(location(d._engine.backend.server).path.parent))
    except dibs.DibsError as error:
        say(type(error).__name__, str(error))
        return
    say("server", d._engine.backend.server)


def modes(folder: Path) -> dict[str, str]:
    """Of a folder and all that is in it."""
    return {path.name: oct(path.stat().st_mode & 0o777) for path in (folder, *folder.iterdir())}


def hold_what_nobody_named() -> None:
    with dibs.connect(quiet=True).lock("a"):
        say("in")
        told("release")


def try_what_nobody_named() -> None:
    with dibs.connect(quiet=True).try_lock("a") as lease:
        say("tried", lease is not None)


def try_as_an_ordinary_user(url: str) -> None:
    """Connect and use a store."""
    be(NOBODY)
    try:
        with dibs.connect(url, quiet=True).lock("a", wait=0.3):
            say("in")
    except dibs.DibsError as error:
        say(type(error).__name__, str(error))


def be_shut_out_for_a_while(url: str, folder: str) -> None:
    """The folder is closed to us between the connect and the first use, and opened again."""
    be(NOBODY)
    d = dibs.connect(url, quiet=True)
    Path(folder).chmod(0o500)
    try:
        d.lock("a", wait=0.3).acquire()
    except dibs.StoreUnreachable as error:
        say("unreachable", str(error))
    Path(folder).chmod(0o700)
    d.lock("a", wait=10).acquire().release()
    say("out")
    sys.stdout.flush()
