"""The scripts for sheets that a majority sets answer as the model does, whatever is asked in whichever order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf
from random import Random
from typing import Any

import hiredis
import pytest

import dibs
from dibs.errors import StoreUnreachable
from dibs.model.quorum import Absent
from dibs.model.register import NOBODY, Cell, Kept, Rank
from dibs.model.sheet import Entry, Question
from dibs.ports.store import Command
from dibs.stores.quorum.cells import Beaten, Copies
from dibs.stores.quorum.node import RedisNode
from dibs.stores.redis.scripts import LINES
from dibs.testing.simulation.agenda import Agenda
from dibs.testing.simulation.quorum.node import DirectNode, NodeServer
from tests.servers.quorums import Quorum
from tests.servers.server import Server
from tests.stores.quorum.test_scripts import Talk

NAMES = ("~worker:a", "~worker:b")
FAR = 4 * 10**9
Worded = Callable[[Any], Command[Any]]


class Both:
    """A server, and the model, which are asked the same."""

    def __init__(self, server: Server) -> None:
        self.server, self._talk = server, Talk(server.port)
        self._real, self._direct, self._memory = RedisNode(""), DirectNode(""), NodeServer(Agenda())
        for load in (LINES.load, *(introduction.words[0] for introduction in self._real.introduction())):
            self._talk.say(load)

    def ask(self, worded: Worded) -> Any:
        """What both answer."""
        command = worded(self._real)
        answer = self._talk.say(command.words[0])
        assert not isinstance(answer, hiredis.ReplyError), answer
        expected, _ = self._memory.execute(worded(self._direct).words, answer[0] / 1e6, lambda _: True)
        real = command.read(answer)
        assert _bare(real) == _bare(expected)
        return real

    def forget(self) -> None:
        self.server.ask("FLUSHALL")
        self._memory.forget()

    def learn(self, name: str) -> None:
        """What was accepted last is settled."""
        cell = self.ask(lambda store: store.consult(name))
        if cell.kept is not None:
            self.ask(lambda store: store.learn(name, cell.rank, cell.kept))
            noted, expected = self.histories(name)
            assert noted == expected

    def histories(self, name: str) -> tuple[list[str], list[str]]:
        """What each has noted."""
        asked = self._real.lines(Question(name))
        real = asked.read(self._talk.say(asked.words[0]))
        return [line.text for line in real], [line.text for line in self._memory.sheets[""].lines(Question(name))]

    def close(self) -> None:
        self._talk.close()


def _bare(answer: Any) -> Any:
    """Without what a server does not tell: whom it has promised itself to, and when it drops something."""
    match answer:
        case Cell():
            return replace(answer, promised=NOBODY)
        case Copies():
            return answer.most_promised, {name: _bare(cell) for name, (cell, _) in answer.sheets.items()}
        case _:
            return answer


@pytest.fixture
def both(server: Server) -> Iterator[Both]:
    made = Both(server)
    made.forget()
    yield made
    made.close()


def _next(random: Random, step: int) -> Worded:
    name, rank = random.choice(NAMES), Rank(step // 8 + random.randrange(1, 4), random.choice((1, 2)))
    entries = tuple((step - 1 + each, Entry(1.0 * each, f"{step}.{each}", ("t",))) for each in range(2))
    text = None if random.random() < 0.1 else f"ü {step}"
    kept = Kept(step, Rank(step, 3), ("1/2",), text, random.choice((None, 9e9)), entries, keep_for=1e11)
    era = f"{(step - random.choice((0, 0, 0, 40))) // 40} me"
    late = random.choice((inf, inf, FAR, 1.0))
    ways: dict[str, Worded] = {
        "consult": lambda store: store.consult(name),
        "prepare": lambda store: store.prepare(name, rank, FAR, era),
        "accept": lambda store: store.accept(name, rank, kept, not_after=late, until=FAR),
        "copy": lambda store: store.copy(step // 40),
        "survey": lambda store: store.survey("me"),
    }
    return ways[random.choice(("prepare", "prepare", "accept", "accept", *ways))]


@pytest.mark.parametrize("seed", range(8))
def test_one_of_several_servers_keeps_a_sheet_as_the_model_does(both: Both, seed: int) -> None:
    random = Random(seed)
    assert both.ask(_next(random, 0)) in (Absent.BARE, "me")
    both.ask(lambda store: store.survey("me"))
    both.ask(lambda store: store.adopt("me", 0, {}))
    for step in range(1, 200):
        both.ask(_next(random, step))
        if random.random() < 0.3:
            both.learn(random.choice(NAMES))


def test_one_that_has_forgotten_is_told_under_the_token_of_whoever_asked_first(both: Both) -> None:
    kept = Kept(5, Rank(5, 3), (), "told", None)
    copies = {NAMES[0]: (Cell(rank=Rank(5, 3), kept=kept), 9e9)}
    assert both.ask(lambda store: store.survey()) == ""
    assert both.ask(lambda store: store.survey("me")) == "me"
    assert both.ask(lambda store: store.survey("you")) == "me"
    assert both.ask(lambda store: store.adopt("you", 7, copies)) is Absent.BARE
    both.ask(lambda store: store.adopt("me", 7, copies))
    assert both.ask(lambda store: store.consult(NAMES[0])).kept == kept
    both.ask(lambda store: store.prepare(NAMES[0], Rank(7, 9), FAR, "7 me"))
    both.ask(lambda store: store.prepare(NAMES[0], Rank(8, 1), FAR, "7 me"))
    assert both.ask(lambda store: store.survey()) == 8
    both.ask(lambda store: store.adopt("me", 9, {NAMES[1]: copies[NAMES[0]]}))
    assert both.ask(lambda store: store.consult(NAMES[1])).kept is None, "it knows all already"
    both.forget()
    assert both.ask(lambda store: store.survey("you")) == "you", "it has forgotten that, too"
    assert both.ask(lambda store: store.adopt("me", 9, copies)) is Absent.BARE


def test_those_who_tell_it_heed_nothing_any_more_that_was_begun_before(both: Both) -> None:
    kept, rank = Kept(5, Rank(5, 3), (), "late", None), Rank(5, 3)
    both.ask(lambda store: store.survey("me"))
    both.ask(lambda store: store.adopt("me", 1, {}))
    both.ask(lambda store: store.prepare(NAMES[0], rank, FAR, "1 me"))
    assert both.ask(lambda store: store.copy(6)) == Copies(6, {})
    both.ask(lambda store: store.accept(NAMES[0], rank, kept, not_after=inf, until=FAR))
    assert both.ask(lambda store: store.consult(NAMES[0])).kept is None


def test_what_another_version_keeps_is_not_taken_for_nothing(five: Quorum) -> None:
    with dibs.connect(five.url, quiet=True) as d:
        for attempt in d.worker("a").attempts():
            attempt.done()
        for server in five.servers:
            server.ask("HSET", "{dibs:~fence}~registers", NAMES[0], "2\nsomething else")
        with pytest.raises(StoreUnreachable, match="another version of dibs"):
            next(iter(d.worker("a").attempts()))


def test_a_promise_is_made_only_to_one_who_has_heard_from_it_since_it_last_told_another(both: Both) -> None:
    both.ask(lambda store: store.survey("me"))
    both.ask(lambda store: store.adopt("me", 1, {}))
    assert both.ask(lambda store: store.consult(NAMES[0])).era == "1 me"
    both.ask(lambda store: store.copy(2))
    assert both.ask(lambda store: store.prepare(NAMES[0], Rank(5, 3), FAR, "1 me")) == Beaten(2, "2 me")
    assert both.ask(lambda store: store.prepare(NAMES[0], Rank(5, 3), FAR, "2 me")).era == "2 me"
