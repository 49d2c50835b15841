"""The scripts of one server of several answer as the table does, whatever is asked in whichever order."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import hiredis
import pytest

from dibs.model.asks import CROWD, Acquire, Busy, KeepAlive, Leave, Push, Queued, Renew, StillQueued
from dibs.model.quorum import Christening
from dibs.ports.store import Command
from dibs.stores.quorum.node import RedisNode
from dibs.testing.simulation.agenda import Agenda
from dibs.testing.simulation.quorum.node import DirectNode, NodeServer
from tests.chaos.stage import LONG
from tests.servers import resp
from tests.servers.ports import HOST
from tests.servers.server import Server

OWNERS = "abcde"
HIGH = 4 * 10**15
"""Above all clocks: so fences are what is counted, and not what time it is."""
TTL = 100.0


class Talk:
    """A connection, spoken to as it is."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection((HOST, port), LONG)
        self._reader = hiredis.Reader()

    def say(self, data: bytes) -> Any:
        self._socket.sendall(data)
        return self.hear()

    def hear(self) -> Any:
        while (said := self._reader.gets()) is False:
            self._reader.feed(self._socket.recv(65_536))
        return said

    def close(self) -> None:
        self._socket.close()


class Both:
    """A server, and the specification, which are asked the same."""

    def __init__(self, server: Server, deaf: str) -> None:
        self._talk, self._ears = Talk(server.port), Talk(server.port)
        self._real, self._direct = RedisNode("n"), DirectNode("n")
        self._memory, self._now, self._deaf = NodeServer(Agenda()), 0.0, deaf
        for introduction in self._real.introduction():
            self._talk.say(introduction.words[0])
        heard = [owner for owner in OWNERS if owner not in deaf]
        self._ears.say(resp.command("SUBSCRIBE", *heard))
        for _ in heard[1:]:
            self._ears.hear()

    def ask(self, worded: Callable[[Any], Command[Any]]) -> tuple[Any, Any]:
        """What each answers, and tells."""
        command, told = worded(self._real), list[Any]()
        answer = self._talk.say(command.words[0])
        assert not isinstance(answer, hiredis.ReplyError), answer
        if isinstance(answer, list):
            self._now = answer[0] / 1e6
        said = self._ears.say(resp.command("PING", "that is all"))
        while said[0] != b"pong":
            told.append(said[2].decode())
            said = self._ears.hear()
        expected, pushes = self._memory.execute(
            worded(self._direct).words, self._now, lambda channel: channel not in self._deaf
        )
        return (_bare(command.read(answer)), told), (
            _bare(expected),
            [_spoken(push) for push in pushes if push.channel not in self._deaf],
        )

    def close(self) -> None:
        self._talk.close()
        self._ears.close()


def _bare(answer: Any) -> Any:
    """Without what depends on when it was asked; and of several who hold it, any may be named."""
    match answer:
        case Queued(position, _, held):
            return "queued", position, held.fence if held.room == 1 else "one of several"
        case Busy(held, waiters):
            return "busy", waiters, held.fence if held.room == 1 else "one of several"
        case StillQueued():
            return "still queued"
        case list():
            return [_bare(each) for each in answer]
        case _:
            return answer


def _spoken(push: Push) -> str:
    return f"{push.kind} {push.owner} {push.fence}"


@pytest.fixture
def both(server: Server, request: pytest.FixtureRequest) -> Iterator[Both]:
    made = Both(server, getattr(request, "param", ""))
    yield made
    made.close()


def _vote(worded: Callable[[float], Sequence[Any]], read: Callable[[Any], Any]) -> Command[Any]:
    return Command(worded(10**10), read)


def _next(random: Random, floor: int, fences: list[int]) -> Callable[[Any], Command[Any]]:
    owner, room = random.choice(OWNERS), random.choice((1, 1, 1, 2, 3, CROWD))
    seen = random.choice(fences or [HIGH])
    ask = Acquire(owner, TTL, 0.0, owner, "who", queue=random.random() < 0.7, room=room, depth=int(room > 1))
    ways: dict[str, Callable[[Any], Command[Any]]] = {
        "vote": lambda store: _vote(*store.vote("a", ask, floor)),
        "raise": lambda store: store.raise_("a", owner, seen + 1),
        "leave": lambda store: store.leave("a", Leave(owner)),
        "withdraw": lambda store: store.leave("a", Leave(owner, fence=seen)),
        "keep": lambda store: store.keep([("a", KeepAlive(owner, TTL))]),
        "renew": lambda store: store.keep([("a", Renew(owner, seen, TTL, 1))]),
        "evict": lambda store: store.evict("a", seen),
    }
    return ways[random.choice(("vote", "vote", *ways))]


@pytest.mark.parametrize("both", ["", "bd"], indirect=True, ids=["all listen", "some are deaf"])
@pytest.mark.parametrize("seed", range(12))
def test_one_of_several_servers_answers_as_the_table_does(both: Both, seed: int) -> None:
    random, fences = Random(seed), list[int]()
    new, expected = both.ask(_next(Random(1), HIGH, []))
    assert new == expected
    told = Christening(HIGH, 0.0, 0.0)
    [(real, _), (table, _)] = both.ask(lambda store: store.census())
    early = both.ask(lambda store: store.christen(told, None))
    late = both.ask(lambda store: store.christen(told, (real if isinstance(store, RedisNode) else table).fresh))
    assert [early[0], late[0]] == [early[1], late[1]]
    for step in range(120):
        worded = _next(random, HIGH + random.choice((0, step * 10)), fences)
        said, expected = both.ask(worded)
        assert said == expected, f"at step {step}"
        if hasattr(said[0], "fence"):
            fences = [said[0].fence, *fences[:4]]
