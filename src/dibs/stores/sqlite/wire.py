"""The line to an embedded store: threads work on the file themselves; what is posted, a thread of the line does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import ReferenceType, WeakSet, finalize, ref

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.model.asks import Push
from dibs.model.request import A_MOMENT, PATIENCE
from dibs.ports.store import Reply
from dibs.ports.world import Handed
from dibs.stores.sqlite.hints import Hint, Mailbox, read
from dibs.stores.sqlite.poster import Poster

if TYPE_CHECKING:
    from dibs.ports.wire import Ear
    from dibs.stores.sqlite.backend import SqliteBackend

SECURED = ("amend", "due", "sheets", "named", "lines")
"""What is said of jobs may lead to work: so nothing is said of our own changes that a power cut could take back."""
Heard = Callable[[Reply | StoreUnreachable], None]
Post = tuple[Sequence[Any], float, Heard]


class SqliteLine:
    """One client's line. What is sent is done on the asking thread, what is posted on a thread of the line's own.

    What may have to wait for the disk has another one: no lock waits behind it.
    """

    def __init__(self, backend: SqliteBackend, ear: Ear, now: Callable[[], float]) -> None:
        self.ear, self.now, self.channel = ear, now, backend.new_channel()
        self.clock = backend.clock or now
        self._backend = backend
        self.mailbox: Mailbox | None = None
        self._here, self._sleepers, self._numbers = threading.local(), WeakSet[SqliteSleeper](), count(1)
        self.is_listening = False
        self._starting = threading.RLock()  # a signal's handler may come here while its own thread does
        self._poster, self._disk_poster = Poster(self.carry_out), Poster(self.carry_out)
        self.is_closed = False

    def send(self, words: Sequence[Any], node: int, within: float) -> Reply:
        if self.is_closed:
            raise self.hung_up()
        try:
            return self._backend.execute(words, self, within)
        finally:
            self._hang_up_if_closed()  # as it may be by now; and we may have opened the file again

    def post(self, words: Sequence[Any], node: int, heard: Heard) -> None:
        if self.is_closed:
            heard(self.hung_up())
            return
        try:
            self._poster_of(words).put((words, self.now() + PATIENCE, heard))
        except RuntimeError as error:
            heard(StoreRefused.without_threads(self._backend.server, error))

    def _poster_of(self, words: Sequence[Any]) -> Poster[Post]:
        return self._disk_poster if words[0] in SECURED else self._poster

    def carry_out(self, post: Post) -> None:
        """Do what was posted; on a thread of our own."""
        words, give_up_at, heard = post
        try:
            outcome: Reply | StoreUnreachable = self.send(words, 0, give_up_at - self.now())
        except StoreUnreachable as error:
            outcome = error
        except Exception as error:  # noqa: BLE001 - the thread must outlive whatever this was
            outcome = StoreUnreachable(self._backend.server, after=0.0, why=repr(error))
        heard(outcome)

    def sleeper(self) -> SqliteSleeper:
        found: SqliteSleeper | None = getattr(self._here, "sleeper", None)
        if found is None:
            channel = f"{self.channel}.{next(self._numbers)}"
            found = self._here.sleeper = SqliteSleeper(channel, self._backend.address(channel), self.hear)
            with self._starting:
                self._sleepers.add(found)
            self.is_listening = False
        return found

    def listen(self) -> None:
        """See to it that we can be told of things. For one thread at a time."""
        if self.mailbox is None or self.mailbox.is_closed:
            mailbox = self._made_mailbox(self._backend.address(self.channel), _heard_by(ref(self)))
            try:
                self._backend.connected(self)
            except BaseException:  # a signal, say: the next ask tries again
                mailbox.close()
                raise
            finalize(self, mailbox.close).atexit = False
            self.mailbox = mailbox
        self.is_listening = True
        with self._starting:
            for sleeper in self._sleepers:
                sleeper.listen()

    def listen_again(self) -> None:
        """Others cannot find us any more: move, and let whoever waits ask again."""
        for box in self._boxes():
            box.close()
        self.listen()
        self.ear.ask_again()

    def is_found(self) -> bool:
        """Whether others can still reach us."""
        return all(box.is_there() for box in self._boxes())

    def hear(self, hint: Hint | None) -> None:
        """A hint came, or what was none."""
        if hint is not None:
            self.ear.deliver(Push(self.channel, hint.owner, hint.fence, hint.kind), hint.granted_at)

    def close(self) -> None:
        self.is_closed = True
        self._poster.close()  # it may have handed a lock over, and not yet told the one who has it now
        self._disk_poster.close()
        for box in self._boxes():
            box.close()
        self._hang_up_if_closed()

    def abandon(self) -> None:
        """In a forked child: it is the parent's."""
        self.is_closed, self._starting = True, threading.RLock()
        self._poster.abandon()
        self._disk_poster.abandon()
        for box in self._boxes():
            box.abandon()

    def _hang_up_if_closed(self) -> None:
        if self.is_closed:
            self._backend.hang_up(self)

    def _made_mailbox(self, path: str, heard: Callable[[bytes], bool]) -> Mailbox:
        mailbox = Mailbox(path)
        try:
            mailbox.listen(heard)
        except BaseException:
            mailbox.close()
            raise
        return mailbox

    def _boxes(self) -> Sequence[Mailbox]:
        with self._starting:
            boxes = [self.mailbox, *(sleeper.mailbox for sleeper in self._sleepers)]
        return [box for box in boxes if box is not None]

    def hung_up(self) -> StoreRefused:
        """What is told to one who still wants to talk."""
        return StoreRefused.hung_up(self._backend.server)


class SqliteSleeper:
    """A thread that hears for itself that a lock was handed to it."""

    def __init__(self, channel: str, path: str, hear: Callable[[Hint | None], None]) -> None:
        self.channel, self._path = channel, path
        self.mailbox: Mailbox | None = None
        self._hear, self._thread = hear, threading.get_ident()

    def listen(self) -> None:
        """See to it that we can be told of things."""
        if self.mailbox is None or self.mailbox.is_closed:
            self.mailbox = Mailbox(self._path)
            finalize(self, self.mailbox.close).atexit = False

    def sleep(self, owner: str, within: float) -> Handed | None:
        if self.mailbox is None or self.mailbox.is_closed:  # somebody hangs up, and is about to say so
            threading.Event().wait(min(within, A_MOMENT))
            return None
        hint = read(self.mailbox.next(within))
        if hint is not None and hint.kind == "handed" and hint.owner == owner:
            return Handed(hint.fence, hint.granted_at)
        self._hear(hint)
        return None

    def wake(self) -> None:
        if self.mailbox is not None and threading.get_ident() != self._thread:
            self.mailbox.knock()


def _heard_by(known: ReferenceType[SqliteLine]) -> Callable[[bytes], bool]:
    def heard(data: bytes) -> bool:
        line = known()
        if line is not None:
            line.hear(read(data))
        return line is not None

    return heard
