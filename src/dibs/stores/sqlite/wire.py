"""The line to an embedded store: threads work on the file themselves, event loops have a thread that does."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any
from weakref import ReferenceType, WeakValueDictionary, finalize, ref

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.model.guarantee import Guarantee
from dibs.model.request import PATIENCE
from dibs.ports.store import Reply
from dibs.stores.direct import DirectLocks
from dibs.stores.sqlite.database import Database
from dibs.stores.sqlite.hints import Bell, Mailbox, clear_away, mailbox_folder, new_name, read, worded
from dibs.stores.sqlite.location import Location, location, refuse_unfit
from dibs.stores.sqlite.schema import sweep
from dibs.stores.sqlite.server import SqliteTurn

if TYPE_CHECKING:
    import sqlite3
    from asyncio import AbstractEventLoop

    from dibs.model.asks import Push
    from dibs.ports.wire import Ear

SWEEP_EVERY = 60.0

Heard = Callable[[Reply | StoreUnreachable], None]


class SqliteBackend:
    """One file and the lines to it.

    Its clock is the one of whoever asks: on one machine that is the same boot clock for all. A test may give another.
    """

    def __init__(self, place: Location, *, clock: Callable[[], float] | None = None) -> None:
        self.server = place.url
        self.mailboxes = mailbox_folder(place.path)
        self._clock = clock
        self._lines: WeakValueDictionary[str, SqliteLine] = WeakValueDictionary()
        self._bell = Bell()
        self._database = Database(place, self._listens, self._renewed)
        self._swept_at = float("-inf")

    @property
    def guarantee(self) -> Guarantee:
        """What one file on one machine promises."""
        return Guarantee(
            level="fenced",
            scope=f"among the processes of this machine and user that use {self.server}",
            clocks="the machine's boot clock, shared by store and holders; fences rise by its wall clock if the file is lost",
            durability="leases survive any process, and end when the machine is started anew",
            across_machines=False,
        )

    def locks(self, namespace: str) -> DirectLocks:
        return DirectLocks(namespace)

    def blocking(self, ear: Ear, now: Callable[[], float]) -> SqliteLine:
        return SqliteLine(self, ear, now)

    def aio(self, ear: Ear, now: Callable[[], float]) -> SqliteLine:
        from asyncio import get_running_loop  # noqa: PLC0415 - it is imported already, or there would be no loop

        return SqliteLine(self, ear, now, get_running_loop())

    def execute(self, words: Sequence[Any], line: SqliteLine, within: float) -> Reply:
        """Carry out one command, then tell whom it concerns."""
        writes = words[0] in {"ask", "keep"}

        def act(db: sqlite3.Connection) -> tuple[Any, float, Sequence[Push]]:
            now = (self._clock or line.now)()
            if writes:
                line.listen()
                self._sweep(db, now)
            turn = SqliteTurn(db, now=now, wall=time.time(), boot=self._database.boot, listens=self._listens)
            return turn.execute(words), now, turn.pushes

        value, at, pushes = self._database.transact(act, writes=writes, within=within)
        for push in pushes:
            self._tell(push, at)
        return Reply(value, at)

    def connected(self, line: SqliteLine) -> None:
        """Somebody listens on this line."""
        if not self._lines:
            clear_away(self.mailboxes)
        self._lines[line.channel] = line

    def hang_up(self, line: SqliteLine) -> None:
        """Nobody listens on this line any more; the last one closes the file."""
        self._lines.pop(line.channel, None)
        if not self._lines:
            self._database.close()

    def start_over_after_fork(self) -> None:
        """In a forked child: the lines are the parent's."""
        for line in list(self._lines.values()):
            line.abandon()
        self._lines.clear()
        self._bell = Bell()

    def _sweep(self, db: sqlite3.Connection, now: float) -> None:
        """Now and then: drop what nobody asks about any more, and see that all our lines can still be found."""
        if now - self._swept_at > SWEEP_EVERY:
            self._swept_at = now
            sweep(db, now)
            for line in list(self._lines.values()):
                line.listen(again=not line.is_found())

    def _listens(self, channel: str) -> bool:
        return channel in self._lines or self._bell.answers(channel)

    def _tell(self, push: Push, granted_at: float) -> None:
        if (line := self._lines.get(push.channel)) is not None:
            line.ear.deliver(push, granted_at)
        else:
            self._bell.ring(push.channel, worded(push, granted_at))

    def _renewed(self) -> None:
        """The file is not the one it was: whoever waits must ask again."""
        for line in list(self._lines.values()):
            line.listen(again=True)


class SqliteLine:
    """One client's line. What is sent is done on the asking thread, what is posted on a thread of the line's own.

    These threads know it only weakly: a client that nobody uses any more can be collected, and takes them with it.
    """

    def __init__(
        self, backend: SqliteBackend, ear: Ear, now: Callable[[], float], loop: AbstractEventLoop | None = None
    ) -> None:
        self.ear, self.now, self.channel = ear, now, f"{backend.mailboxes}/{new_name()}"
        self._backend, self._loop = backend, loop
        self._mailbox: Mailbox | None = None
        self._posts: SimpleQueue[_Post | None] | None = None
        self._starting = threading.Lock()
        self._is_closed = False

    def send(self, words: Sequence[Any], node: int, within: float) -> Reply:
        if self._is_closed:
            raise StoreRefused(self._backend.server, after=0.0, why="the line was hung up")
        return self._backend.execute(words, self, within)

    def post(self, words: Sequence[Any], node: int, heard: Heard) -> None:
        with self._starting:
            if self._posts is None:
                self._posts = SimpleQueue()
                finalize(self, self._posts.put, None).atexit = False
                threading.Thread(target=_work, args=(self._posts, ref(self)), name="dibs-line", daemon=True).start()
        self._posts.put((words, self.now() + PATIENCE, heard))

    def listen(self, *, again: bool = False) -> None:
        """See to it that we can be told of things. For one thread at a time."""
        if self._mailbox is not None and not again:
            return
        if self._mailbox is not None:
            self._mailbox.close()
        self._mailbox = Mailbox(self.channel, _heard_by(ref(self)))
        finalize(self, self._mailbox.close).atexit = False
        self._backend.connected(self)
        if again:
            self.ear.ask_again()

    def is_found(self) -> bool:
        """Whether others can still reach us."""
        return self._mailbox is not None and self._mailbox.is_there()

    def hear(self, data: bytes) -> None:
        """A hint came."""
        if (hint := read(data, self.channel)) is not None:
            self.ear.deliver(*hint)

    def carry_out(self, post: _Post) -> None:
        """Do what was posted; on a thread of our own."""
        words, give_up_at, heard = post
        try:
            outcome: Reply | StoreUnreachable = self.send(words, 0, give_up_at - self.now())
        except StoreUnreachable as error:
            outcome = error
        if self._loop is None:
            heard(outcome)
            return
        with suppress(RuntimeError):  # the loop was closed: nobody listens any more
            self._loop.call_soon_threadsafe(heard, outcome)

    def close(self) -> None:
        self._is_closed = True
        if self._posts is not None:
            self._posts.put(None)
        if self._mailbox is not None:
            self._mailbox.close()
        self._backend.hang_up(self)

    def abandon(self) -> None:
        """In a forked child: it is the parent's."""
        self._is_closed, self._posts = True, None
        if self._mailbox is not None:
            self._mailbox.abandon()


_Post = tuple[Sequence[Any], float, Heard]


def _work(posts: SimpleQueue[_Post | None], known: ReferenceType[SqliteLine]) -> None:
    while (post := posts.get()) is not None and (line := known()) is not None:
        line.carry_out(post)
        del line, post


def _heard_by(known: ReferenceType[SqliteLine]) -> Callable[[bytes], bool]:
    def heard(data: bytes) -> bool:
        line = known()
        if line is not None:
            line.hear(data)
        return line is not None

    return heard


_open: WeakValueDictionary[str, SqliteBackend] = WeakValueDictionary()
_opening = threading.Lock()


def open_store(url: str) -> SqliteBackend:
    """The embedded store in that file, which all clients of this process share."""
    return open_at(location(url))


def open_at(place: Location) -> SqliteBackend:
    """As one that is open already if there is one: no two handles may be on one file."""
    key = os.path.realpath(place.path)
    with _opening:
        backend = _open.get(key)
        if backend is None:
            refuse_unfit(place)
            backend = _open[key] = SqliteBackend(Location(Path(key), is_ours=place.is_ours))
        return backend


def _after_fork_in_child() -> None:
    global _opening  # noqa: PLW0603 - the parent's may be held by a thread that was not copied
    _opening = threading.Lock()
    for backend in list(_open.values()):
        backend.start_over_after_fork()


os.register_at_fork(after_in_child=_after_fork_in_child)
