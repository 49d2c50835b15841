"""Several servers whose answers come when a test says so."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.model.asks import Acquire, Leave, Push, Renew
from dibs.ports.store import Reply
from dibs.stores.quorum.council import NODE_PATIENCE, Council, Node, NodeEar
from dibs.stores.quorum.dialect import QuorumLocks
from dibs.stores.quorum.line import QuorumWire
from dibs.testing.simulation.agenda import Agenda
from dibs.testing.simulation.quorum.node import DirectNode, NodeServer

Outcome = Reply | StoreUnreachable
TTL = 10.0


class HeldLine:
    """A line on which what was posted waits until it is let through, lost or refused."""

    channel = "ours"

    def __init__(self, server: NodeServer) -> None:
        self.server = server
        self.posted: deque[tuple[Sequence[Any], Callable[[Outcome], None]]] = deque()
        self.ear: NodeEar | None = None

    def post(self, words: Sequence[Any], node: int, heard: Callable[[Outcome], None]) -> None:
        self.posted.append((words, heard))

    def close(self) -> None:
        """Nothing is to be given back."""

    def answer(self, count: int = 100) -> None:
        """Let so many through, with their answers."""
        while self.posted and count:
            count -= 1
            words, heard = self.posted.popleft()
            heard(self._done(words))

    def do_silently(self) -> Callable[[], None]:
        """Let one through; its answer comes when what this gives is called."""
        words, heard = self.posted.popleft()
        reply = self._done(words)
        return lambda: heard(reply)

    def refuse(self) -> None:
        """The next is surely not done."""
        self.posted.popleft()[1](StoreRefused("held://", after=0.0, why="LOADING", is_outage=False))

    def break_off(self) -> None:
        """All that waits is lost."""
        while self.posted:
            self.posted.popleft()[1](StoreUnreachable("held://", after=0.0, why="the connection was lost"))

    def _done(self, words: Sequence[Any]) -> Reply:
        at = self.server.clock()
        value, pushes = self.server.execute(words, at, lambda _: True)
        for push in pushes:
            if self.ear is not None:
                self.ear.deliver(push, at)
        return Reply(value, at)


class Hands:
    """One process, and its servers. It hears what it is told."""

    def __init__(self, size: int = 3, *, offsets: Sequence[float] = ()) -> None:
        self.agenda = Agenda()
        self.agenda.now = 1.0
        places = [*offsets, *[1_000.0] * size][:size]
        self.servers = [NodeServer(self.agenda, offset=offset) for offset in places]
        for server in self.servers:
            server.longest = 0.0
        self.pushes: list[Push] = []
        self.asked_again = 0
        self.store = QuorumLocks(DirectNode(""))
        self.lines: list[HeldLine] = []
        self.council, self.wire = self.another()
        self.answers: list[Outcome] = []

    def another(self) -> tuple[Council, QuorumWire]:
        """Another process's way to the same servers; ours is the first."""
        council = Council("held://", self, lambda: self.agenda.now, DirectNode(""))
        lines = [HeldLine(server) for server in self.servers]
        council.nodes = [Node(number, line) for number, line in enumerate(lines)]
        for number, line in enumerate(lines):
            line.ear = NodeEar(council, number)
        wire = QuorumWire(council, "ours")
        self.lines = self.lines or lines
        wire.put(self.store.time().words, lambda _: None)
        for line in lines:
            line.answer()
        return council, wire

    def deliver(self, push: Push, asked_at: float) -> None:
        self.pushes.append(push)

    def ask_again(self) -> None:
        self.asked_again += 1

    def begin(self, owner: str, *, queue: bool = True, room: int = 1) -> list[Outcome]:
        """Ask for the lock; what is answered is in the list that this gives."""
        ask = Acquire(owner, TTL, self.agenda.now + 1_005, "ours", owner, queue=queue, room=room, depth=int(room > 1))
        return self.put(self.store.acquire("a", ask).words)

    def put(self, words: Sequence[Any]) -> list[Outcome]:
        answers: list[Outcome] = []
        self.ballot = self.wire.put(words, answers.append)
        return answers

    def leave(self, owner: str, *, bar_until: float | None = None) -> list[Outcome]:
        return self.put(self.store.leave("a", Leave(owner, bar_until)).words)

    def renew(self, owner: str, fence: int) -> list[Outcome]:
        return self.put(self.store.keep([("a", Renew(owner, fence, TTL))]).words)

    def pass_time(self, seconds: float = 2 * NODE_PATIENCE) -> None:
        self.agenda.now += seconds

    def hurry(self) -> None:
        self.wire.hurry(self.ballot)

    def answer(self, *numbers: int) -> None:
        """Let all through on these lines, or on all, until nothing waits there."""
        chosen = [self.lines[number] for number in numbers] or self.lines
        while any(line.posted for line in chosen):
            for line in chosen:
                line.answer()

    def holders(self) -> list[str | None]:
        """Who holds it on each server."""
        locks = [server.locks.get("a") for server in self.servers]
        found = [
            None if lock is None else lock.at(server.clock()).holder
            for lock, server in zip(locks, self.servers, strict=True)
        ]
        return [None if holder is None else holder.owner for holder in found]

    def tickets(self) -> list[int]:
        locks = [server.locks.get("a") for server in self.servers]
        return [0 if lock is None else len(lock.queue) for lock in locks]
