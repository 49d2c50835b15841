"""A sheet that a majority sets, answer by answer: what is settled when, and what nobody knows."""

from __future__ import annotations

from math import inf

import pytest

from dibs.errors import StoreRefused
from dibs.model.sheet import Change, Entry, Question
from dibs.ports.store import Reply
from tests.stores.quorum.hands import Hands
from tests.stores.quorum.sheets import (
    NAME,
    change,
    is_set,
    knowing,
    let_through,
    looks,
    lost,
    made,
    seen,
    sets,
    told,
    trouble,
)


@pytest.fixture
def hands() -> Hands:
    return knowing()


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
