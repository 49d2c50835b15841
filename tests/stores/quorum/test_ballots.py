"""A vote, answer by answer: what is decided when, and what is taken back from whom."""

from __future__ import annotations

from typing import cast

import pytest

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.model.asks import Acquire, Busy, Granted, Leave, Push, Queued, Said
from dibs.ports.store import Reply
from tests.stores.quorum.hands import TTL, Hands, HeldLine, Outcome


@pytest.fixture
def hands() -> Hands:
    return Hands()


def value(answers: list[Outcome]) -> object:
    [outcome] = answers
    assert isinstance(outcome, Reply), outcome
    return outcome.value


def fence(answers: list[Outcome]) -> int:
    granted = value(answers)
    assert isinstance(granted, Granted)
    return granted.fence


def other_takes(hands: Hands, *numbers: int, owner: str = "other") -> None:
    """Somebody else has got a part of it already."""
    for number in numbers:
        server = hands.servers[number]
        ask = Acquire(owner, TTL, server.clock() + 5, "theirs", owner, seen=10**10 + len(owner), queue=False)
        server.execute(("vote", "a", ask), server.clock(), lambda _: True)


def counts(hands: Hands, number: int) -> bool:
    """Whether that server votes."""
    return hands.servers[number].longest is not None


def test_it_is_decided_as_soon_as_a_majority_has_granted_it(hands: Hands) -> None:
    answers = hands.begin("ann")
    hands.answer(0)
    assert not answers
    hands.answer(2)
    assert isinstance(value(answers), Granted)
    assert hands.holders() == ["ann", None, "ann"]


@pytest.mark.parametrize("silent", [(), (2,)])
def test_who_asks_too_late_is_told_the_time_to_ask_by(hands: Hands, silent: tuple[int, ...]) -> None:
    for server in hands.servers:
        server.offset += 60.0
    answers = hands.begin("ann")
    for number, line in enumerate(hands.lines):
        if number in silent:
            line.break_off()
    hands.answer()
    assert value(answers) is Said.REFUSED
    assert cast("Reply", answers[0]).at == hands.servers[0].clock()


def test_where_too_few_are_there_nobody_is_late(hands: Hands) -> None:
    for server in hands.servers:
        server.offset += 60.0
    answers = hands.begin("ann")
    hands.lines[1].break_off()
    hands.lines[2].break_off()
    hands.answer()
    [outcome] = answers
    assert isinstance(outcome, StoreUnreachable)
    assert outcome.is_outage


def test_all_give_the_same_fence_and_need_not_be_told_it(hands: Hands) -> None:
    answers = hands.begin("ann")
    hands.answer()
    assert {server.last_fence for server in hands.servers} == {fence(answers)}
    assert not any(line.posted for line in hands.lines)


def test_who_has_counted_further_has_a_majority_count_from_there_before_the_lock_is_given(hands: Hands) -> None:
    hands.servers[0].last_fence = ahead = 10**12
    answers = hands.begin("ann")
    hands.answer(0)
    hands.lines[1].answer(1)
    assert not answers, "one of the two does not count from it yet"
    hands.answer(1)
    assert fence(answers) == ahead + 1
    assert hands.servers[1].last_fence == ahead + 1
    hands.answer(2)
    assert [server.locks["a"].holders[0].fence for server in hands.servers] == [ahead + 1] * 3


def test_a_fence_that_others_have_counted_past_is_left_for_a_higher_one(hands: Hands) -> None:
    hands.servers[0].last_fence = ahead = 10**12
    answers = hands.begin("ann")
    for line in hands.lines:
        line.answer(1)
    hands.servers[1].last_fence = hands.servers[2].last_fence = ahead + 50
    hands.answer()
    assert fence(answers) > ahead + 50
    assert sum(server.last_fence == fence(answers) for server in hands.servers) >= 2


def test_a_part_that_is_gone_does_not_confirm_the_fence(hands: Hands) -> None:
    hands.servers[0].last_fence = 10**12
    answers = hands.begin("ann")
    for line in hands.lines:
        line.answer(1)
    for server in hands.servers[1:]:
        server.locks.clear()
    hands.answer()
    assert isinstance(answers[0], StoreUnreachable)
    assert hands.holders() == [None, None, None]


def test_one_that_grants_it_late_learns_the_fence(hands: Hands) -> None:
    hands.servers[2].last_fence = 10**12
    answers = hands.begin("ann")
    hands.answer(0, 1)
    hands.answer(2)
    assert hands.servers[2].locks["a"].holders[0].fence == fence(answers) < 10**12
    kept = hands.renew("ann", fence(answers))
    hands.answer(0, 2)
    assert value(kept) == [Said.KEPT]


def test_who_is_beaten_gives_back_its_part_and_keeps_its_tickets(hands: Hands) -> None:
    other_takes(hands, 0, 1)
    answers = hands.begin("ann")
    hands.answer()
    assert isinstance(value(answers), Queued)
    assert hands.holders() == ["other", "other", None]
    assert hands.tickets() == [1, 1, 0]


def test_who_does_not_wait_leaves_nothing_behind(hands: Hands) -> None:
    other_takes(hands, 0, 1)
    answers = hands.begin("ann", queue=False)
    hands.answer()
    assert isinstance(value(answers), Busy)
    assert (hands.holders(), hands.tickets()) == (["other", "other", None], [0, 0, 0])


def test_a_part_that_is_granted_when_all_is_decided_is_given_back(hands: Hands) -> None:
    other_takes(hands, 0, 1)
    answers = hands.begin("ann", queue=False)
    hands.answer(0, 1)
    assert isinstance(value(answers), Busy)
    hands.answer(2)
    assert hands.holders() == ["other", "other", None]


def test_what_is_taken_back_late_is_not_what_was_got_since(hands: Hands) -> None:
    """A withdrawal is refused at first, and said again when its owner has asked anew: fences tell them apart."""
    other_takes(hands, 0, 1)
    hands.begin("ann")
    for line in hands.lines:
        line.answer(1)
    hands.lines[2].refuse()
    for server in hands.servers[:2]:
        server.locks.clear()
    again = hands.begin("ann")
    hands.answer(0, 1)
    hands.answer()
    assert isinstance(value(again), Granted)
    assert hands.holders() == ["ann", "ann", "ann"]


def test_nor_is_it_where_one_server_has_counted_much_further(hands: Hands) -> None:
    hands.servers[2].last_fence = 10**13
    test_what_is_taken_back_late_is_not_what_was_got_since(hands)


def test_votes_that_are_split_are_asked_for_again_after_a_pause_of_ones_own() -> None:
    hands = Hands(5)
    for number in range(4):
        other_takes(hands, number, owner="o" * (number + 1))
    answers = hands.begin("ann")
    hands.answer(4)
    hands.answer()
    place = value(answers)
    assert isinstance(place, Queued)
    assert place.ask_again_in < 0.1
    tried = hands.begin("bob", queue=False)
    hands.answer(4)
    hands.answer()
    assert isinstance(tried[0], StoreUnreachable)
    assert "at the same time" in str(tried[0])


def test_who_cannot_know_whether_somebody_has_it_asks_again_before_long() -> None:
    hands = Hands(5)
    other_takes(hands, 0, 1)
    other_takes(hands, 2, 3, owner="another")
    answers = hands.begin("ann")
    hands.answer(0, 1, 2)
    place = value(answers)
    assert isinstance(place, Queued)
    assert place.ask_again_in < 0.3


def test_two_silent_servers_and_one_refusal_are_no_answer(hands: Hands) -> None:
    other_takes(hands, 0)
    answers = hands.begin("ann")
    hands.answer(0)
    hands.hurry()
    assert not answers, "it is too early to say so"
    hands.pass_time()
    hands.hurry()
    assert isinstance(answers[0], StoreUnreachable)
    assert "too few of its servers answer" in str(answers[0])


def test_one_that_is_silent_is_not_asked_again_until_it_speaks(hands: Hands) -> None:
    first = hands.begin("ann")
    hands.answer(0, 1)
    assert isinstance(value(first), Granted)
    hands.pass_time()
    hands.leave("ann")
    hands.answer(0, 1)
    waiting = len(hands.lines[2].posted)
    second = hands.begin("bob")
    hands.answer(0, 1)
    assert isinstance(value(second), Granted)
    assert len(hands.lines[2].posted) == waiting
    hands.answer(2)
    assert hands.holders() == ["bob", "bob", None], "a leave follows the ask that was not answered"
    hands.begin("carl")
    assert hands.lines[2].posted


def test_too_few_who_are_there_are_not_even_asked(hands: Hands) -> None:
    hands.begin("ann")
    hands.lines[1].break_off()
    hands.lines[2].break_off()
    hands.answer(0)
    tried = hands.begin("bob")
    assert isinstance(tried[0], StoreRefused)
    assert not [words for words, _ in hands.lines[0].posted if words[0] == "vote"]


def test_an_ask_that_was_lost_is_barred_when_its_server_is_back(hands: Hands) -> None:
    hands.begin("ann")
    late = hands.lines[2].posted[0][0]
    hands.lines[2].break_off()
    hands.answer(0, 1)
    hands.leave("ann")
    hands.answer()
    hands.council.ask_again(2)
    hands.answer()
    hands.servers[2].execute(late, hands.servers[2].clock(), lambda _: True)
    assert hands.holders() == [None, None, None]
    assert hands.asked_again == 1


def test_a_farewell_behind_an_ask_that_is_under_way_need_not_bar_it_unless_both_are_lost(hands: Hands) -> None:
    for is_lost in (False, True):
        hands.begin("ann")
        hands.answer(0, 1)
        late = hands.lines[2].posted[0][0]
        hands.leave("ann")
        hands.answer(0, 1)
        said = [words[-1] for words, _ in hands.lines[2].posted if isinstance(words[-1], Leave)]
        assert [leave.bar_until for leave in said] == [None]
        if is_lost:
            hands.lines[2].break_off()
            hands.council.ask_again(2)
        hands.answer()
        if is_lost:
            hands.servers[2].execute(late, hands.servers[2].clock(), lambda _: True)
        assert hands.holders() == [None, None, None]


def test_a_farewell_that_overtook_what_was_asked_before_it_is_said_again_and_bars_it(hands: Hands) -> None:
    """The connection broke between them, and nobody had heard of that yet."""
    hands.begin("ann")
    hands.answer(0, 1)
    words, lost = hands.lines[2].posted.popleft()
    hands.leave("ann")
    lost(StoreUnreachable("held://", after=0.0, why="the connection was lost"))
    hands.answer()
    hands.servers[2].execute(words, hands.servers[2].clock(), lambda _: True)
    assert hands.holders() == [None, None, None]


def test_who_leaves_by_another_line_than_it_came_bars_what_may_be_under_way_there(hands: Hands) -> None:
    """A keeper gives back what a loop has taken."""
    hands.begin("ann")
    hands.answer(1, 2)
    _, keeper = hands.another()
    keeper.put(hands.store.leave("a", Leave("ann")).words, lambda _: None)
    for node in keeper.council.nodes:
        cast("HeldLine", node.line).answer()
    assert hands.holders() == [None, None, None]
    hands.answer()
    assert hands.holders() == [None, None, None]


def test_a_server_that_forgets_all_once_more_is_not_made_to_count_by_what_was_found_before(hands: Hands) -> None:
    for server in hands.servers:
        server.forget()
    hands.put(hands.store.time().words)
    for line in hands.lines:
        line.answer(1)
    late = hands.lines[0].posted[0][0]
    assert late[0] == "christen", "all are new, and so they count at once"
    hands.answer()
    assert [server.longest for server in hands.servers] == [0.0] * 3
    hands.pass_time()
    hands.servers[0].forget()
    hands.servers[0].execute(late, hands.servers[0].clock(), lambda _: True)
    assert hands.servers[0].longest is None


def test_a_waiter_asks_at_once_when_a_majority_wakes_it_and_soon_when_one_does(hands: Hands) -> None:
    other_takes(hands, 0, 1, 2)
    hands.begin("ann")
    hands.answer()
    told = list[float]()
    for number in range(3):
        ear = hands.lines[number].ear
        assert ear is not None
        ear.deliver(Push("ours", "ann", 0, "woken"), 0.0)
        told = [push.within for push in hands.pushes]
        assert len(told) == min(number + 1, 2), "the third says nothing new"
    assert 0 < told[0] < 0.1
    assert told[1] == 0
    hands.council.told(0, Push("ours", "somebody", 0, "woken"), 0.0)
    assert len(hands.pushes) == 2


def test_a_lock_is_released_when_a_majority_says_so(hands: Hands) -> None:
    hands.begin("ann")
    hands.answer()
    answers = hands.leave("ann")
    hands.answer(0)
    assert not answers
    hands.answer(1)
    assert value(answers) is Said.RELEASED


def test_a_server_that_has_forgotten_all_is_asked_and_not_counted(hands: Hands) -> None:
    hands.servers[0].forget()
    answers = hands.begin("ann")
    hands.answer(0, 1)
    assert not answers
    hands.answer()
    assert isinstance(value(answers), Granted)
    assert hands.holders() == [None, "ann", "ann"]
    assert hands.servers[0].fresh_since is not None


def test_one_that_has_forgotten_learns_the_counters_as_they_are_when_its_silence_is_over(hands: Hands) -> None:
    hands.begin("ann")
    hands.answer()
    hands.servers[0].forget()
    hands.begin("bob")
    hands.answer()
    assert not counts(hands, 0)
    hands.servers[1].last_fence = hands.servers[2].last_fence = later = 10**13
    hands.pass_time(TTL + 1)
    hands.begin("carl")
    hands.answer()
    assert counts(hands, 0)
    assert hands.servers[0].last_fence >= later
