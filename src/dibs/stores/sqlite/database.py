"""The open file: one connection, shared by all threads of the process, one short transaction at a time."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakSet

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.stores.sqlite import log
from dibs.stores.sqlite.boot import boot_id
from dibs.stores.sqlite.file import File
from dibs.stores.sqlite.gate import Gate, InUse
from dibs.stores.sqlite.schema import PAGE_SIZE, Unfit, is_ready, prepare
from dibs.stores.sqlite.troubles import code, meaning

if TYPE_CHECKING:
    from dibs.stores.sqlite.location import Location

T = TypeVar("T")

READ, WRITE = "BEGIN", "BEGIN IMMEDIATE"
"""Reading keeps nobody waiting."""
FOR_GOOD = "BEGIN EXCLUSIVE"
"""Writes what must outlive a power cut, and does once `secure` was called. (To SQLite it is a write like any other.)"""

OLDEST = (3, 24, 0)
SHORTEST_NAP, LONGEST_NAP, SHORT_NAPS = 0.000_05, 0.002, 30
"""How long to wait for another process's transaction, which usually takes less than the shortest of these.

The first naps are all short, or one that comes and goes without a pause would keep others from even joining its queue.
"""
LOOK_EVERY = 0.25
"""How often to see whether the file is still there."""
LOOK_AT_LOG = 256
"""After how many commits of our own to bring home what is in the log.

The first time comes by chance: so all processes do not do it at once, and of many that live for a moment some do.
"""
LONGEST_TURN = 2.0
"""How long one who closes or forks waits for another thread's transaction."""


class Database:
    """One file. It is opened at the first use, and again after it was closed, replaced or forked away from."""

    def __init__(self, place: Location, listens: Callable[[str], bool], replaced: Callable[[], None]) -> None:
        self._db: sqlite3.Connection | None = None
        self._url, self._file, self._gate = place.url, File(place), Gate()
        self._listens, self._replaced = listens, replaced
        self.boot, self._pid = boot_id(), os.getpid()
        self._look_at, self._commits = 0.0, 0
        self._changes = self._secured = 0  # how many were made for good, and of how many the disk knows
        self._is_inherited = self._is_to_close = False
        _databases.add(self)

    def transact(self, act: Callable[[sqlite3.Connection], T], begin: str, within: float) -> T:
        """Do something in one transaction.

        `StoreRefused` if it surely was not done, `StoreUnreachable` if who knows.
        """
        me, give_up_at = threading.get_ident(), time.monotonic() + within
        nap, tries = SHORTEST_NAP, 0
        while True:
            if self._gate.inside == me:  # a signal's handler asks while its own thread is in here
                raise self._refused("this thread is in the middle of an ask", "use no locks in a signal's handler")
            try:
                return self._gate.alone(within, self._transact_now, act, begin)
            except InUse:
                within = give_up_at - time.monotonic()
                if within <= nap:
                    fix = "look for one that was stopped in the middle of a write"
                    raise self._refused("another process keeps it locked", fix, is_outage=True) from None
            time.sleep(nap)  # outside of the gate: other threads may be luckier, and one may want to fork
            tries += 1
            if tries > SHORT_NAPS:
                nap = min(nap * 1.5, LONGEST_NAP)

    def transact_at_once(self, act: Callable[[sqlite3.Connection], T], begin: str) -> T:
        """The same, without a wait: `InUse` if somebody is at the file just now, or it is to be opened or tidied up."""
        if self._db is None or self._gate.inside or self._commits >= LOOK_AT_LOG:
            raise InUse
        return self._gate.alone(0.0, self._transact_now, act, begin)

    @property
    def is_secure(self) -> bool:
        """Whether all that was changed for good is on the disk, as far as this process did it."""
        return self._secured == self._changes

    def secure(self) -> None:
        """Wait for the disk until it has all that was changed for good; nobody else waits meanwhile.

        As part of the commit (`synchronous = FULL`), every other process would. `StoreUnreachable` if it failed: then
        the change is there to be seen, and is waited for again by whoever looks.
        """
        changes = self._changes
        if changes == self._secured:
            return
        try:
            self._file.secure_log()
        except OSError as error:
            why = f"its disk fails: {error.strerror or error}"
            raise StoreUnreachable(self._url, after=0.0, why=why, fix="check the disk") from error
        self._secured = changes

    def tidy_up(self) -> None:
        """Now and then bring home what is in the log: that takes a while, so others are told first."""
        if self._commits >= LOOK_AT_LOG and not self._gate.inside:
            self._commits = 0
            with suppress(InUse, sqlite3.Error):  # the next who looks will try
                self._gate.alone(0.0, self._bring_log_home)

    def close(self) -> None:
        """Let go of the file; the next use opens it again. A signal's handler may close what its thread is using."""
        if self._gate.inside == threading.get_ident():
            self._is_to_close = True
            return
        with suppress(InUse):
            self._gate.alone(LONGEST_TURN, self._drop)

    def __del__(self) -> None:
        self._drop()

    def _transact_now(self, act: Callable[[sqlite3.Connection], T], begin: str) -> T:
        is_committing = False
        try:
            db = self._db if self._db is not None and self._pid == os.getpid() else self._opened()
            db.execute(begin)
            if begin == FOR_GOOD or time.monotonic() >= self._look_at:
                self._refuse_replaced()
            result = act(db)
            is_committing = True
            db.execute("COMMIT")
            self._commits += 1
        except (sqlite3.Error, OSError, Unfit) as error:
            self._roll_back()
            raise self._trouble(error, is_committing=is_committing) from error
        except BaseException:
            self._roll_back()
            raise
        finally:
            if is_committing and begin == FOR_GOOD:
                self._changes += 1
            if self._is_to_close:
                self._is_to_close = False
                self._drop()
        return result

    def _opened(self) -> sqlite3.Connection:
        """Open the file, or make it; only ever while this process has no other handle on it.

        (Closing any handle would drop the locks that SQLite holds through another: so POSIX wants it.)
        """
        if self._pid != os.getpid():  # by a fork that did not tell Python
            self._abandon()
        if self._is_inherited:
            raise Unfit("this process was forked while it was open", "fork with os.fork, or before the first lock")
        if sqlite3.sqlite_version_info < OLDEST:
            raise Unfit(f"SQLite {sqlite3.sqlite_version} is too old", f"use one from {'.'.join(map(str, OLDEST))} on")
        found = self._file.made()
        db = sqlite3.connect(self._file.path, timeout=0.0, isolation_level=None, check_same_thread=False)
        try:
            self._make_ready(db)
        except BaseException:
            db.close()
            raise
        self._db, self._commits = db, int.from_bytes(os.urandom(2)) % LOOK_AT_LOG
        if self._file.opened_as(found):
            self._replaced()
        return db

    def _make_ready(self, db: sqlite3.Connection) -> None:
        # One look at one moment, before anything is changed in it. A reader waits for nobody: were each to ask for a
        # write, one who opens the file could fail to get a turn for as long as others go from write to write.
        db.execute("BEGIN")
        has_all = is_ready(db, self.boot)
        db.execute("COMMIT")
        self._file.make_private()
        db.execute(f"PRAGMA page_size = {PAGE_SIZE}")
        [mode] = db.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise Unfit("its file system has no shared memory", "name a file on a local disk")
        log.bound(db)
        # What a power cut takes back, the next boot would drop anyway: all but the last memos and counts.
        db.execute("PRAGMA synchronous = NORMAL")
        if not has_all:
            db.execute("BEGIN IMMEDIATE")
            prepare(db, self.boot, self._listens)
            db.execute("COMMIT")

    def _refuse_replaced(self) -> None:
        """A file that was deleted can still be written to, but nobody else would ever see it. So look now and then.

        Not each time, as that costs as much as another lock; leases in a deleted file live on for longer anyway.
        """
        if self._file.is_replaced():
            self._drop()
            raise Unfit("the file was deleted or replaced", "what was held in it is lost; the next ask makes a new one")
        self._look_at = time.monotonic() + LOOK_EVERY

    def _roll_back(self) -> None:
        if self._db is not None and self._db.in_transaction:
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")

    def _drop(self) -> None:
        if self._db is not None:
            db, self._db = self._db, None
            with suppress(sqlite3.Error):
                db.close()

    def _bring_log_home(self) -> None:
        if self._db is not None:
            log.bring_home(self._db, self._file.log_size())

    def _trouble(self, error: sqlite3.Error | OSError | Unfit, *, is_committing: bool) -> Exception:
        """What to tell of an error; a busy file is not one yet."""
        if isinstance(error, Unfit):
            return self._refused(error.why, error.fix)
        if isinstance(error, OSError):
            return self._refused(error.strerror or str(error), "check its folder")
        if code(error).startswith("SQLITE_BUSY"):
            return InUse()
        why, fix = meaning(error)
        if is_committing and not code(error).startswith("SQLITE_FULL"):
            return StoreUnreachable(self._url, after=0.0, why=why, fix=fix)
        return self._refused(why, fix)

    def _refused(self, why: str, fix: str, *, is_outage: bool = False) -> StoreRefused:
        return StoreRefused(self._url, after=0.0, why=why, fix=fix, is_outage=is_outage)

    # Fork. SQLite's own bookkeeping must not be copied while a file is open: a child would believe that it holds
    # the parent's locks. So the file is closed before every fork, and opened again at the next use, on both sides.

    def before_fork(self) -> None:
        """Close the file, and keep every thread from opening it."""
        if self._gate.shut(LONGEST_TURN):
            self._drop()

    def after_fork_in_parent(self) -> None:
        """Let the threads go on."""
        self._gate.open()

    def after_fork_in_child(self) -> None:
        """Begin anew. A handle that could not be closed is the parent's."""
        gate, self._gate = self._gate, Gate()
        self._abandon()
        self._is_inherited = self._is_inherited or gate.is_occupied

    def _abandon(self) -> None:
        """In a child: a handle of the parent's is neither used nor ever closed."""
        self._pid = os.getpid()
        if self._db is not None:
            _keep_for_ever(self._db)
            self._db, self._is_inherited = None, True


def _keep_for_ever(db: sqlite3.Connection) -> None:
    """Nobody may close it, the interpreter at its end included."""
    import ctypes  # noqa: PLC0415 - needed by next to nobody

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))


_databases: WeakSet[Database] = WeakSet()


def _for_each(act: Callable[[Database], None]) -> Callable[[], None]:
    def act_on_all() -> None:
        for database in list(_databases):
            act(database)

    return act_on_all


os.register_at_fork(
    before=_for_each(Database.before_fork),
    after_in_parent=_for_each(Database.after_fork_in_parent),
    after_in_child=_for_each(Database.after_fork_in_child),
)
