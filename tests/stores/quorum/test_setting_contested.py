"""A sheet that a majority sets, where several do at once, and where servers forget it."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import pytest

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.model.register import MOST_SIGNS, NOBODY, Cell, Kept, Rank
from dibs.stores.quorum.setting import AT_ONCE, CROWDED, MOST_TRIES
from dibs.testing.simulation.quorum.cells import CellServer
from tests.stores.quorum.hands import Hands
from tests.stores.quorum.sheets import NAME, is_set, knowing, let_through, looks, made, seen, sets, told, trouble


@pytest.fixture
def hands() -> Hands:
    return knowing()


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
        server.execute(("prepare", NAME, Rank(number, 1), server.era), 0.0, bool)


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
