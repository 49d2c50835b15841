"""In which order what comes on one connection is passed on."""

from __future__ import annotations

from itertools import count

import pytest

from dibs.errors import StoreUnreachable
from dibs.model.asks import Push
from dibs.ports.store import Reply
from dibs.stores.redis.dialogue import Dialogue

HANDED = b">3\r\n$7\r\nmessage\r\n$4\r\nhere\r\n$11\r\nhanded me 7\r\n"
ANSWER = b"*2\r\n:1000000\r\n:7\r\n"
HANDED_HERE = b"*3\r\n:1000000\r\n:7\r\n*1\r\n$11\r\nhanded me 8\r\n"


class Witness:
    """Hears everything, and says in which order it came."""

    def __init__(self) -> None:
        self.heard: list[object] = []
        self.dialogue = Dialogue("redis://here", self, count(1.0).__next__)

    def deliver(self, push: Push, asked_at: float) -> None:
        self.heard.append((push.owner, push.fence, asked_at))

    def ask_again(self) -> None:
        raise NotImplementedError

    def ask(self) -> None:
        self.dialogue.ask(b"", self._answered)

    def feed(self, data: bytes) -> None:
        self.dialogue.answer(self.dialogue.feed(data, len(data)))

    def _answered(self, outcome: Reply | StoreUnreachable) -> None:
        self.heard.append(outcome)


def test_who_is_handed_a_lock_goes_before_those_who_are_answered_in_the_same_breath() -> None:
    witness = Witness()
    witness.ask()
    witness.feed(ANSWER + HANDED)
    assert witness.heard == [("me", 7, 1.0), Reply([1_000_000, 7], 1.0)]


def test_a_push_counts_from_the_last_ask_that_was_answered_ahead_of_it() -> None:
    witness = Witness()
    for _ in range(3):
        witness.ask()
    witness.feed(ANSWER)
    witness.feed(HANDED)
    witness.feed(ANSWER + HANDED + ANSWER)
    pushes = [heard for heard in witness.heard if isinstance(heard, tuple)]
    assert pushes == [("me", 7, 1.0), ("me", 7, 2.0)]


def test_who_is_handed_a_lock_by_an_answer_goes_first_and_counts_from_that_very_ask() -> None:
    witness = Witness()
    for _ in range(3):
        witness.ask()
    witness.feed(ANSWER + HANDED_HERE + ANSWER)
    assert [heard for heard in witness.heard if isinstance(heard, tuple)] == [("me", 8, 2.0)]
    assert witness.heard[0] == ("me", 8, 2.0)
    assert len(witness.heard) == 4


@pytest.mark.parametrize(
    "said",
    [
        b"*3\r\n:1000000\r\n:1\r\n:7\r\n",  # a grant
        b"*3\r\n:1000000\r\n:7\r\n*2\r\n:3\r\n:0\r\n",  # of several locks the eighth is held
        b"*3\r\n:1000000\r\n:7\r\n*0\r\n",  # given back, and nobody here waits
        b"*3\r\n:1000000\r\n:7\r\n*1\r\n$8\r\nhanded 8\r\n",
    ],
)
def test_an_answer_that_hands_nothing_over_is_only_an_answer(said: bytes) -> None:
    witness = Witness()
    witness.ask()
    witness.feed(said)
    assert [type(heard) for heard in witness.heard] == [Reply]


def test_a_push_in_pieces_is_passed_on_when_it_is_whole() -> None:
    witness = Witness()
    for place in range(len(HANDED)):
        assert witness.heard == []
        witness.feed(HANDED[place : place + 1])
    assert witness.heard == [("me", 7, float("-inf"))]


def test_what_is_asked_while_answers_are_passed_on_counts_from_then_however_long_that_takes() -> None:
    clock = [1.0]
    dialogue = Dialogue("redis://here", Witness(), lambda: clock[0])

    def take_time(_: Reply | StoreUnreachable) -> None:
        clock[0] += 60.0
        dialogue.ask(b"", lambda _: None)

    dialogue.ask(b"", take_time)
    dialogue.answer(dialogue.feed(ANSWER, len(ANSWER)))
    assert dialogue.waiting_since == 61.0
