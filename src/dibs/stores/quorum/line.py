"""The lines to all servers, as one: for an event loop, and for threads."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dibs.errors import StoreUnreachable
from dibs.model.register import proposer_of
from dibs.ports.store import Reply
from dibs.stores.quorum.council import NODE_PATIENCE, Council

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from dibs.stores.quorum.ballot import Ballot, Heard


class QuorumWire:
    """One client's line for its threads. Nothing blocks on one server: a thread waits for the ballot."""

    def __init__(self, council: Council, channel: str) -> None:
        self.council, self.channel = council, channel
        council.proposer = proposer_of(channel)

    def post(self, words: Sequence[Any], node: int, heard: Heard) -> None:
        self.put(words, heard)

    def put(self, words: Sequence[Any], heard: Heard) -> Ballot:
        """Begin a ballot."""
        with self.council.lock:
            ballot: Ballot = words[0].ballot(self.council, heard)
            ballot.begin()
        self.council.tell()
        return ballot

    def hurry(self, ballot: Ballot) -> None:
        """Wait no longer for those who are silent."""
        with self.council.lock:
            ballot.hurry()
        self.council.tell()

    def send(self, words: Sequence[Any], node: int, within: float) -> Reply:
        answers, came = list[Reply | StoreUnreachable](), threading.Event()

        def heard(outcome: Reply | StoreUnreachable) -> None:
            answers.append(outcome)
            came.set()

        ballot, left = self.put(words, heard), within
        while ballot.is_urgent and left > NODE_PATIENCE and not came.wait(NODE_PATIENCE):
            left -= NODE_PATIENCE
            self.hurry(ballot)
        if not came.wait(left):
            raise StoreUnreachable(self.council.server, after=within)
        [outcome] = answers
        if isinstance(outcome, StoreUnreachable):
            raise outcome
        return outcome

    def sleeper(self) -> None:
        return None

    def close(self) -> None:
        for node in self.council.nodes:
            node.line.close()


class QuorumLine(QuorumWire):
    """One client's line for the running event loop. A timer sees to it that no silent server keeps a ballot open."""

    def __init__(self, council: Council, channel: str, loop: AbstractEventLoop) -> None:
        super().__init__(council, channel)
        self._loop = loop
        self._open: dict[Ballot, float] = {}
        self._is_watched = False

    def put(self, words: Sequence[Any], heard: Heard) -> Ballot:
        ballot = super().put(words, heard)
        if ballot.is_urgent and not ballot.is_decided:
            self._open[ballot] = self.council.now() + NODE_PATIENCE
            ballot.concluded = self._shut
            self._watch(NODE_PATIENCE)
        return ballot

    def _shut(self, ballot: Ballot) -> None:
        self._open.pop(ballot, None)

    def _watch(self, within: float) -> None:
        if not self._is_watched:
            self._is_watched = True
            self._loop.call_later(within, self._look)

    def _look(self) -> None:
        self._is_watched, now = False, self.council.now()
        for ballot, ends_at in list(self._open.items()):
            if ends_at > now:
                self._watch(ends_at - now)
                return
            del self._open[ballot]
            self.hurry(ballot)
            if not ballot.is_decided:
                self._open[ballot] = now + NODE_PATIENCE
                self._watch(NODE_PATIENCE)
