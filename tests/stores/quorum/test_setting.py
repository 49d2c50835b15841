"""A sheet that a majority sets, answer by answer: what is settled when, and what nobody knows."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import pytest

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.model.register import MOST_SIGNS, NOBODY, Cell, Kept, Rank
from dibs.model.sheet import Change, Entry, Look, Question
from dibs.ports.store import Reply
from dibs.stores.quorum.setting import AT_ONCE, CROWDED, MOST_TRIES
from dibs.testing.simulation.quorum.cells import CellServer
from tests.stores.quorum.hands import Hands, Outcome

NAME = "~worker:a"


@pytest.fixture
def hands() -> Hands:
    made = Hands()
    for server in made.servers:
        server.floor = 0
    return made


def looks(hands: Hands) -> list[Outcome]:
    return hands.put(hands.store.sheets([NAME]).words)


def change(revision: int, text: str | None, **more: Any) -> Change:
    return Change(NAME, revision, text, None, -inf, more.pop("not_after", inf), **more)


def sets(hands: Hands, revision: int, text: str | None, **more: Any) -> list[Outcome]:
    return hands.put(hands.store.amend([change(revision, text, **more)]).words)


def is_set(hands: Hands, revision: int, text: str | None, **more: Any) -> int:
    """Its new revision."""
    answers = sets(hands, revision, text, **more)
    hands.answer()
    return made(answers)


def made(answers: list[Outcome]) -> int:
    [outcome] = answers
    assert isinstance(outcome, Reply), outcome
    [revision] = outcome.value
    assert isinstance(revision, int)
    return revision


def seen(answers: list[Outcome]) -> list[tuple[int, str]]:
    [outcome] = answers
    assert isinstance(outcome, Reply), outcome
    assert isinstance(outcome.value, Look)
    return [(sheet.revision, sheet.text) for sheet in outcome.value.sheets]


def told(hands: Hands) -> list[str | None]:
    """What each has accepted."""
    cells = [server.cells.get(NAME) for server in hands.servers]
    return [None if cell is None or cell.kept is None else cell.kept.text for cell in cells]


def trouble(answers: list[Outcome]) -> StoreUnreachable:
    [outcome] = answers
    assert isinstance(outcome, StoreUnreachable), outcome
    return outcome


def lost(hands: Hands, *numbers: int) -> None:
    """What is on its way to these is lost; then they are there again."""
    for number in numbers:
        hands.lines[number].break_off()
        hands.council.ask_again(number)


def let_through(hands: Hands, *rounds: int) -> None:
    """So many questions on each line."""
    for line, count in zip(hands.lines, rounds, strict=True):
        line.answer(count)


class TestALook:
    def test_it_is_one_question_where_a_majority_knows_the_same(self, hands: Hands) -> None:
        revision = is_set(hands, 0, "one")
        answers = looks(hands)
        let_through(hands, 1, 1, 0)
        assert seen(answers) == [(revision, "one")]

    def test_where_there_is_nothing_that_is_told(self, hands: Hands) -> None:
        answers = looks(hands)
        hands.answer()
        assert seen(answers) == []

    def test_what_too_few_know_is_settled_before_it_is_told(self, hands: Hands) -> None:
        sets(hands, 0, "one")
        let_through(hands, 1, 1, 1)
        hands.lines[0].answer()
        lost(hands, 1, 2)
        assert told(hands) == ["one", None, None]
        answers = looks(hands)
        let_through(hands, 1, 1, 0)
        assert not answers, "the third might know of it, too"
        lost(hands, 2)
        hands.answer()
        assert [text for _, text in seen(answers)] == ["one"]
        assert told(hands)[:2] == ["one", "one"]

    def test_what_none_of_a_majority_has_accepted_was_not_settled(self, hands: Hands) -> None:
        sets(hands, 0, "one")
        let_through(hands, 1, 1, 1)
        hands.lines[0].answer()
        lost(hands, 1, 2)
        answers = looks(hands)
        hands.answer(1, 2)
        assert seen(answers) == []

    def test_too_few_answers_are_no_answer_and_it_may_be_asked_again(self, hands: Hands) -> None:
        answers = looks(hands)
        hands.lines[0].answer()
        for line in hands.lines[1:]:
            line.break_off()
        assert isinstance(trouble(answers), StoreRefused)
        assert "too few of its servers answer" in str(trouble(answers))

    def test_who_is_silent_is_not_waited_for(self, hands: Hands) -> None:
        revision = is_set(hands, 0, "one")
        hands.servers[0].cells.clear()
        answers = looks(hands)
        hands.answer(0, 1)
        assert not answers, "the third might tell"
        hands.pass_time()
        hands.hurry()
        hands.answer(0, 1)
        assert seen(answers) == [(revision, "one")]


class TestAChange:
    def test_it_is_made_once_a_majority_has_accepted_it_and_the_others_are_told_too(self, hands: Hands) -> None:
        answers = sets(hands, 0, "one")
        hands.answer(0, 1)
        assert made(answers)
        assert told(hands) == ["one", "one", None]
        hands.answer(2)
        assert told(hands) == ["one", "one", "one"]

    def test_one_that_promises_while_the_others_accept_counts_if_it_knows_of_nothing_newer(self, hands: Hands) -> None:
        answers = sets(hands, 0, "one")
        let_through(hands, 1, 1, 1)
        lost(hands, 1)
        assert not answers
        hands.answer()
        assert made(answers)
        assert told(hands) == ["one", None, "one"]

    def test_one_that_knows_of_something_newer_is_not_told(self, hands: Hands) -> None:
        sets(hands, 0, "newer")
        let_through(hands, 1, 1, 1)
        hands.lines[2].answer()
        lost(hands, 0, 1)
        answers = sets(hands, 0, "one")
        hands.answer(0, 1)
        assert made(answers)
        hands.answer(2)
        assert told(hands) == ["one", "one", "newer"]
        later = looks(hands)
        hands.answer()
        assert [text for _, text in seen(later)] == ["one"]

    def test_it_is_refused_where_it_was_made_from_something_else(self, hands: Hands) -> None:
        first = is_set(hands, 0, "one")
        assert is_set(hands, 0, "two") == 0
        second = is_set(hands, first, "two")
        assert second > first
        assert is_set(hands, first, "three") == 0

    def test_each_of_several_is_made_for_itself(self, hands: Hands) -> None:
        other = Change("~worker:b", 0, "other", None, -inf, inf)
        answers = hands.put(hands.store.amend([change(0, "one"), change(0, "two"), other]).words)
        hands.answer()
        [outcome] = answers
        assert isinstance(outcome, Reply)
        one, two, three = outcome.value
        assert (bool(one), two, bool(three)) == (True, 0, True)

    def test_what_is_thrown_away_is_gone_and_its_history_with_it(self, hands: Hands) -> None:
        first = is_set(hands, 0, "one", entries=[Entry(1_000.0, "noted")])
        assert is_set(hands, first, None) > first
        answers = looks(hands)
        hands.answer()
        assert seen(answers) == []
        lines = hands.put(hands.store.lines(Question(NAME)).words)
        hands.answer()
        assert isinstance(lines[0], Reply)
        assert lines[0].value == []

    def test_before_a_majority_has_promised_it_is_surely_not_made(self, hands: Hands) -> None:
        answers = sets(hands, 0, "one")
        for line in hands.lines:
            line.break_off()
        assert isinstance(trouble(answers), StoreRefused)

    def test_once_it_was_put_to_them_nobody_knows(self, hands: Hands) -> None:
        answers = sets(hands, 0, "one")
        let_through(hands, 1, 1, 0)
        for line in hands.lines:
            line.break_off()
        assert not isinstance(trouble(answers), StoreRefused)

    def test_what_comes_too_late_is_not_accepted(self, hands: Hands) -> None:
        now = hands.agenda.now + 1_000
        answers = sets(hands, 0, "one", not_after=now + 1)
        let_through(hands, 1, 1, 1)
        hands.pass_time(5)
        hands.answer()
        assert "too late" in str(trouble(answers))
        assert told(hands) == [None, None, None]

    def test_it_is_made_though_nobody_says_that_it_was_noted(self, hands: Hands) -> None:
        answers = sets(hands, 0, "one", entries=[Entry(1_000.0, "noted")])
        let_through(hands, 2, 2, 2)
        assert not answers
        lost(hands, 0, 1, 2)
        assert made(answers)
        again = looks(hands)
        hands.answer()
        assert [text for _, text in seen(again)] == ["one"]
        lines = hands.put(hands.store.lines(Question(NAME)).words)
        hands.answer()
        assert isinstance(lines[0], Reply)
        assert [line.text for line in lines[0].value] == ["noted"], "whoever looks sees to it, and it is told once"


class TestSeveralAtOnce:
    def test_of_two_from_the_same_revision_one_is_made(self, hands: Hands) -> None:
        """Both are of one process, so one proposer has put both."""
        first = is_set(hands, 0, "one")
        mine, yours = sets(hands, first, "mine"), sets(hands, first, "yours")
        hands.answer()
        assert sorted(map(bool, (made(mine), made(yours)))) == [False, True]

    @pytest.mark.parametrize("promises", range(4))
    def test_whoever_is_overtaken_finds_its_own_change_in_what_came_of_it(self, hands: Hands, promises: int) -> None:
        first = is_set(hands, 0, "one")
        mine = sets(hands, first, "mine")
        for line in hands.lines:
            line.answer(1)
        for line in hands.lines[:promises]:
            line.answer(1)
        yours = sets(hands, first, "yours")
        hands.answer()
        winner = "mine" if made(mine) else "yours"
        assert bool(made(mine)) is not bool(made(yours))
        assert told(hands)[0] == winner

    def test_one_that_is_beaten_again_and_again_rests_and_at_last_gives_up(self, hands: Hands) -> None:
        answers = sets(hands, 0, "one")
        rests = 0
        while not answers:
            _raise_all(hands.servers)
            for line in hands.lines:
                line.answer(len(line.posted))
            if not answers and not any(line.posted for line in hands.lines):
                rests += 1
                hands.hurry()
        assert rests == MOST_TRIES // AT_ONCE
        assert str(trouble(answers).why) == CROWDED
        assert isinstance(trouble(answers), StoreRefused), "nobody has promised anything"

    def test_where_too_many_were_made_since_nobody_knows(self, hands: Hands) -> None:
        mine = sets(hands, 0, "mine")
        let_through(hands, 1, 1, 1)
        hands.lines[0].answer(1)
        for server in hands.servers:
            _replace_by_many(server)
        hands.answer()
        assert trouble(mine).why == CROWDED
        assert not isinstance(trouble(mine), StoreRefused)


def _raise_all(servers: Sequence[CellServer]) -> None:
    """Others are always quicker."""
    for server in servers:
        number = max(10**16, server.most_promised + 10**6)
        server.execute(("prepare", NAME, Rank(number, 1)), 0.0, bool)


def _replace_by_many(server: CellServer) -> None:
    rank = Rank(10**17, 7)
    kept = Kept(99, rank, tuple(f"{number}/7" for number in range(MOST_SIGNS)), "others", None)
    server.cells[NAME] = Cell(rank, rank, kept, 99)


class TestOneThatHasForgotten:
    def test_servers_that_are_all_new_begin_with_nothing(self) -> None:
        hands = Hands()
        answers = looks(hands)
        hands.answer()
        assert "too few of its servers know how work stands" in str(trouble(answers))
        assert is_set(hands, 0, "one")

    def test_it_is_told_by_the_others_and_counts_again(self, hands: Hands) -> None:
        revision = is_set(hands, 0, "one")
        hands.servers[0].forget()
        answers = looks(hands)
        hands.answer()
        assert seen(answers) == [(revision, "one")]
        assert told(hands) == ["one", "one", "one"]
        assert hands.servers[0].floor == hands.servers[1].floor
        hands.servers[1].stalled_until = inf
        later = looks(hands)
        hands.answer(0, 2)
        hands.pass_time()
        hands.hurry()
        hands.answer(0, 2)
        assert seen(later) == [(revision, "one")]

    def test_it_does_not_count_while_too_few_can_tell_it(self, hands: Hands) -> None:
        is_set(hands, 0, "one")
        hands.servers[0].forget()
        hands.lines[2].break_off()
        answers = looks(hands)
        hands.lines[2].break_off()
        hands.answer(0, 1)
        assert isinstance(trouble(answers), StoreRefused)
        assert hands.servers[0].floor is None
        assert hands.servers[0].cells == {}

    def test_what_is_on_its_way_with_its_old_promise_is_not_settled(self, hands: Hands) -> None:
        """It has promised, and forgets that: what it is told to accept then, it does not."""
        answers = sets(hands, 0, "one")
        let_through(hands, 1, 1, 0)
        hands.servers[0].forget()
        hands.lines[1].break_off()
        hands.lines[0].answer()
        hands.lines[2].break_off()
        assert isinstance(trouble(answers), StoreUnreachable)
        assert told(hands) == [None, None, None]
        assert hands.servers[1].cells[NAME].rank == NOBODY
