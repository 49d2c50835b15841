"""One embedded store as this process sees it: the file, and all the lines to it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import ReferenceType, WeakValueDictionary, ref

from dibs.model.guarantee import Guarantee
from dibs.ports.store import Reply
from dibs.stores.direct import DirectLocks
from dibs.stores.machine import guarantee
from dibs.stores.sqlite.database import FOR_GOOD, READ, WRITE, Database
from dibs.stores.sqlite.gate import InUse
from dibs.stores.sqlite.hints import Bell, clear_away, home, is_beside, mailbox_folder, new_name, worded
from dibs.stores.sqlite.location import Location, location, refuse_unfit
from dibs.stores.sqlite.schema import sweep
from dibs.stores.sqlite.server import SqliteTurn
from dibs.stores.sqlite.wire import SECURED, SqliteLine

if TYPE_CHECKING:
    import sqlite3

    from dibs.model.asks import Push
    from dibs.ports.wire import Ear

SWEEP_EVERY = 60.0
BEGIN = {
    **dict.fromkeys(("ask", "keep", "all", "count", "note"), WRITE),
    **dict.fromkeys(("inspect", "held", "recall", "counted", "time", "due", "sheets", "named", "lines"), READ),
    "amend": FOR_GOOD,
}


class SqliteBackend:
    """One file and the lines to it.

    Its clock is the one of whoever asks: on one machine that is the same boot clock for all. A test may give another,
    which tells the time of day then, too.
    """

    def __init__(self, place: Location, *, clock: Callable[[], float] | None = None) -> None:
        self.server = place.url
        self._mailboxes = mailbox_folder(place.path)
        self._folder = f"{self._mailboxes}/"
        self.clock = clock
        self._lines: dict[str, ReferenceType[SqliteLine]] = {}
        self._bell = Bell()
        self._database = Database(place, self._listens, self._replaced)
        self._sweep_at = float("-inf")

    @property
    def guarantee(self) -> Guarantee:
        """What one file on one machine promises."""
        return guarantee(
            self.server,
            clocks="one boot clock, shared by store and holders; if the file is lost, fences rise by the wall clock",
            durability="leases outlive any process, and end when the machine is started anew; what was noted of work"
            " outlives that, too, but a power cut may take back the last of it; ticks, once claimed, are on the disk",
        )

    def locks(self, namespace: str) -> DirectLocks:
        return DirectLocks(namespace)

    def blocking(self, ear: Ear, now: Callable[[], float]) -> SqliteLine:
        return SqliteLine(self, ear, now)

    def aio(self, ear: Ear, now: Callable[[], float]) -> SqliteLine:
        from dibs.stores.sqlite.aio import SqliteLoopLine  # noqa: PLC0415 - only where a loop runs is asyncio needed

        return SqliteLoopLine(self, ear, now)

    def execute(self, words: Sequence[Any], line: SqliteLine, within: float) -> Reply:
        """Carry out one command, then tell whom it concerns."""
        reply = self._told(*self._database.transact(partial(self._act, words, line), BEGIN[words[0]], within))
        if words[0] in SECURED:
            self._database.secure()
        self._database.tidy_up()
        return reply

    def execute_at_once(self, words: Sequence[Any], line: SqliteLine) -> Reply | None:
        """The same if it takes but a moment; `None` if it may take longer, and was not done."""
        begin = BEGIN[words[0]]
        if begin == FOR_GOOD or not line.is_listening or line.clock() >= self._sweep_at:
            return None
        try:
            reply = self._told(*self._database.transact_at_once(partial(self._act, words, line), begin))
        except InUse:
            return None
        return None if words[0] in SECURED and not self._database.is_secure else reply  # to look again changes nothing

    def _told(self, value: Any, at: float, pushes: Sequence[Push]) -> Reply:
        for push in pushes:
            self._tell(push, at)
        return Reply(value, at)

    def _act(self, words: Sequence[Any], line: SqliteLine, db: sqlite3.Connection) -> tuple[Any, float, Sequence[Push]]:
        if line.is_closed:
            raise line.hung_up()
        now = line.clock()
        wall = time.time() if self.clock is None else now
        if BEGIN[words[0]] != READ:
            if not line.is_listening:
                line.listen()
            if now >= self._sweep_at:
                self._sweep(db, now, wall)
        turn = SqliteTurn(db, now, wall, self._database.boot, self._listens)
        return turn.execute(words), now, turn.pushes

    def new_channel(self) -> str:
        """For a new line. Beside the file it is a mere name: another container may know the folder by another path."""
        return new_name() if is_beside(self._mailboxes) else self._folder + new_name()

    def address(self, channel: str) -> str:
        """Where that channel's socket is."""
        return channel if channel[:1] == "/" else self._folder + channel

    def connected(self, line: SqliteLine) -> None:
        """Somebody listens on this line."""
        if not self._lines:
            clear_away(self._mailboxes)
        forget = partial(self._lines.pop, line.channel, None)
        self._lines[line.channel] = ref(line, lambda _: forget())

    def hang_up(self, line: SqliteLine) -> None:
        """Nobody listens on this line any more; the last one closes the file."""
        self._lines.pop(line.channel, None)
        if not self._lines:
            self._database.close()
            self._bell.close()

    def start_over_after_fork(self) -> None:
        """In a forked child: the lines are the parent's."""
        for line in self._open_lines():
            line.abandon()
        self._lines.clear()
        self._bell.close()
        self._bell = Bell()

    def _sweep(self, db: sqlite3.Connection, now: float, wall: float) -> None:
        """Now and then: drop what nobody asks about any more, and see that all our lines can still be found."""
        self._sweep_at = now + SWEEP_EVERY
        sweep(db, now=now, wall=wall)
        for line in self._open_lines():
            if not line.is_found():
                line.listen_again()

    def _listens(self, channel: str) -> bool:
        return self._bell.answers(self.address(channel))

    def _tell(self, push: Push, granted_at: float) -> None:
        """To whoever waits there, if a lock was handed over; a loss, to the line, which always listens."""
        channel = home(push.channel)
        known = self._lines.get(channel)
        if known is not None and (line := known()) is not None:
            line.ear.deliver(push, granted_at)
        else:
            told = push.channel if push.kind == "handed" else channel
            self._bell.ring(self.address(told), worded(push, granted_at))

    def _replaced(self) -> None:
        """The file is not the one it was: what was left in it, and told by it, is gone."""
        for line in self._open_lines():
            line.listen_again()

    def _open_lines(self) -> list[SqliteLine]:
        return [line for known in list(self._lines.values()) if (line := known()) is not None]


_open: WeakValueDictionary[str, SqliteBackend] = WeakValueDictionary()
_opening = threading.RLock()


def open_store(url: str) -> SqliteBackend:
    """The embedded store in that file, which all clients of this process share: no two handles may be on one file."""
    place = location(url)
    key = os.path.realpath(place.path)
    with _opening:
        if key not in _open:
            # A file that is open under another name must not be read: closing it again would drop its locks.
            refuse_unfit(place, may_read=not _open)
        backend = _open.get(key)
        if backend is None:
            backend = _open[key] = SqliteBackend(Location(Path(key), is_ours=place.is_ours))
        return backend


def _after_fork_in_child() -> None:
    global _opening  # noqa: PLW0603 - the parent's may be held by a thread that was not copied
    _opening = threading.RLock()
    for backend in list(_open.values()):
        backend.start_over_after_fork()


os.register_at_fork(after_in_child=_after_fork_in_child)
