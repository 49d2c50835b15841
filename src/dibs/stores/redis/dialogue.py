"""What is said on one connection, and in which order it is answered. Knows no socket: both colours share it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hiredis import PushNotification, Reader, ReplyError

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.model.asks import Push
from dibs.model.request import PATIENCE
from dibs.ports.store import Reply
from dibs.stores.redis.resp import encode
from dibs.stores.redis.scripts import ALL, MICRO

if TYPE_CHECKING:
    from dibs.ports.wire import Ear

Heard = Callable[[Reply | StoreUnreachable], None]
Done = Callable[[StoreUnreachable | None], None]

NOTHING = object()
READ_SIZE = 65_536
DEAD_AFTER = 2 * PATIENCE
"""A connection on which an ask has had no answer for so long is given up: nobody is at the other end."""
NOT_DONE = {
    "NOSCRIPT": "ask again: it is loaded now",
    "LOADING": "wait until it has read its data",
    "BUSY": "look for a script of somebody's that runs too long",
    "READONLY": "name the server that takes writes: this is a replica",
    "MASTERDOWN": "name the server that takes writes: this is a replica",
    "NOREPLICAS": "bring its replicas back",
    "MISCONF": "make room on its disk: it cannot save its data",
    "OOM": "give it more memory",
    "NOAUTH": "put its password into the URL: redis://user:password@host",
    "WRONGPASS": "check the user and the password in the URL",
    "NOPERM": "let its user run what dibs needs (docs/redis.md)",
    "MOVED": "name it as a cluster",
    "ASK": "name it as a cluster",
    "CROSSSLOT": "name it as a cluster",
    "CLUSTERDOWN": "bring its cluster back",
    "TRYAGAIN": "wait until its cluster has moved the slot",
}
"""What a server says when it has surely not done what it was asked; and what can be done about it."""

FORBIDDEN_IN_SCRIPTS = ("ACL failure in script", "user executing the script can't")
"""What servers say when their user may run the script, but not what is in it; how far it came is not known."""


LOAD_ALL = b"".join(script.load for script in ALL)
RELEASED = 7


def told_with(said: Any) -> Sequence[Push]:
    """Whom of this process a lock was handed to that it has just given back, where that comes with the answer."""
    match said:
        case [_, code, [*told]] if code == RELEASED:
            return [push for words in told if isinstance(words, bytes) and (push := _push("", words)) is not None]
        case _:
            return ()


def _push(channel: str, words: bytes) -> Push | None:
    match words.decode(errors="replace").split(" "):
        case [("handed" | "evicted" | "woken") as kind, owner, fence] if fence.isdecimal():
            return Push(channel, owner, int(fence), kind)
        case _:
            return None


def outcome(server: str, said: Any) -> Reply | StoreUnreachable:
    """What a server has answered."""
    if isinstance(said, list) and said and isinstance(said[0], int):  # as all scripts answer
        return Reply(said, said[0] / MICRO)
    if not isinstance(said, ReplyError):
        return Reply(said)
    text = str(said)
    fix = NOT_DONE.get(text.partition(" ")[0])
    if fix is None:
        is_forbidden = any(words in text for words in FORBIDDEN_IN_SCRIPTS)
        fix = NOT_DONE["NOPERM"] if is_forbidden else "see what the server's log says"
        return StoreUnreachable(server, after=0.0, why=text, fix=fix, is_outage=False)
    return StoreRefused(server, after=0.0, why=text, fix=fix, is_outage=False)


def is_unknown_script(refusal: StoreRefused) -> bool:
    """Whether the server has to be told its scripts again: it was started anew, or somebody flushed them."""
    return refusal.why.startswith("NOSCRIPT")


def ignored(outcome: Reply | StoreUnreachable) -> None:
    """Nobody waits for this answer."""


class Dialogue:
    """Asks that wait for their answers, first come first answered; between these, what the server tells unasked."""

    def __init__(self, server: str, ear: Ear, now: Callable[[], float]) -> None:
        self._server, self._ear, self._now = server, ear, now
        self._reader: Any = Reader(notEnoughData=NOTHING)
        self.pending: deque[tuple[Heard, float]] = deque()
        self._is_told_only = False
        self._answered_at = float("-inf")
        self._needs_scripts = False

    @property
    def waiting_since(self) -> float | None:
        """Since when the oldest ask has had no answer."""
        return self.pending[0][1] if self.pending else None

    def ask(self, data: bytes, heard: Heard) -> bytes:
        """What to send now, to ask this; `heard` is told what comes back."""
        if self._needs_scripts:
            self._needs_scripts = False
            data = self._load_scripts(ignored) + data
        self.pending.append((heard, self._now()))
        return data

    def greet(self, channel: str | None, done: Done) -> bytes:
        """What is said first: that this is our channel, and the scripts. `done` is told when all is answered."""
        left = len(ALL) + (channel is not None)

        def heard(outcome: Reply | StoreUnreachable) -> None:
            nonlocal left
            left -= 1
            if isinstance(outcome, StoreUnreachable):
                left = -1
                done(outcome)
            elif left == 0:
                done(None)

        words = self._load_scripts(heard)
        return words if channel is None else words + self.ask(encode("SUBSCRIBE", channel), heard)

    def listen_only(self, channel: str, done: Done) -> bytes:
        """The same on a connection that is for being told alone: with RESP2 it can be no other."""
        self._is_told_only = True
        words = encode("SUBSCRIBE", channel)
        return self.ask(words, lambda outcome: done(outcome if isinstance(outcome, StoreUnreachable) else None))

    def feed(self, data: bytes | memoryview, size: int) -> Sequence[Any]:
        """Bytes have come. Who is told something hears of it now; the answers are still to be passed on.

        So whoever is handed a lock goes first: others wait behind it.
        """
        reader, answers = self._reader, list[Any]()
        reader.feed(data, 0, size)
        while (said := reader.gets()) is not NOTHING:
            is_told = self._is_told_only or type(said) is PushNotification
            if is_told and said[0] != b"subscribe":
                self._told(said, self.pending[len(answers) - 1][1] if answers else self._answered_at)
                continue
            for push in told_with(said):
                self._ear.deliver(push, self.pending[len(answers)][1])
            answers.append(said)
        return answers

    def answer(self, answers: Iterable[Any]) -> None:
        """Pass them on."""
        for said in answers:
            if not self.pending:
                raise ValueError("an answer to nothing that was asked")
            heard, self._answered_at = self.pending.popleft()
            answer = outcome(self._server, said)
            if isinstance(answer, StoreRefused) and is_unknown_script(answer):
                self._needs_scripts = True
            heard(answer)

    def end(self, why: str) -> None:
        """The connection is gone, and with it all answers: whether the asks arrived nobody knows."""
        pending, self.pending = self.pending, deque()
        for heard, asked_at in pending:
            heard(StoreUnreachable(self._server, after=self._now() - asked_at, why=why))

    def _load_scripts(self, heard: Heard) -> bytes:
        self.pending.extend([(heard, self._now())] * len(ALL))
        return LOAD_ALL

    def _told(self, said: Any, asked_at: float) -> None:
        match said:
            case [b"message", channel, message] if (push := _push(channel.decode(), message)) is not None:
                self._ear.deliver(push, asked_at)
            case _:
                pass
