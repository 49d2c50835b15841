"""A server that has forgotten the sheets is told them by the others, answer by answer, while all goes on."""

from __future__ import annotations

from tests.stores.quorum.hands import Hands
from tests.stores.quorum.sheets import Peer, forgets, is_set, knowing, made, seen, told


def test_what_others_knew_before_it_forgot_again_is_not_what_it_is_told() -> None:
    """One who is slow to tell a new server that there is nothing does not do so once there is."""
    hands = Hands()
    slow, other = Peer(hands, "slow"), Peer(hands, "other")
    slow.looks()
    for line in slow.lines:
        line.answer(1)
    slow.answer(1, 2)
    while any(server.floor is None for server in hands.servers):
        other.looks()
        other.answer()
        hands.pass_time(0.1)
    mine = other.sets(0, "one")
    other.answer(0, 1)
    assert made(mine)
    forgets(hands, 0)
    slow.answer()
    assert told(hands) == ["one", "one", None]


def test_many_who_find_it_at_once_do_not_keep_one_another_from_telling_it() -> None:
    hands = knowing()
    is_set(hands, 0, "one")
    forgets(hands, 0)
    peers = [Peer(hands, f"p{number}") for number in range(5)]
    for peer in peers:
        peer.looks()
        for line in peer.lines:
            line.answer(1)
    for peer in peers:  # each asks whether it still has forgotten, before any of them tells it
        peer.lines[0].answer(1)
    peers[0].answer()
    assert told(hands) == ["one", "one", "one"]


class TestAPromiseOfBeforeItForgot:
    """One was promised a rank by a server that forgets it, and is told by the others; they promise the rest."""

    def test_it_is_not_completed_by_those_who_have_told_it_since(self) -> None:
        hands, early, base = _promised_by_one()
        teller, late = Peer(hands, "teller"), Peer(hands, "late")
        forgets(hands, 0)
        teller.looks()
        teller.answer()
        assert told(hands) == ["base", "base", "base"]
        _only_the_late_one_is_made(hands, early, late, base)

    def test_it_is_kept_after_all_where_it_was_completed_before_they_told_it(self) -> None:
        hands, early, base = _promised_by_one()
        teller, late = Peer(hands, "teller"), Peer(hands, "late")
        forgets(hands, 0)
        teller.looks()
        for line in (*teller.lines, *teller.lines):  # it has forgotten; it waits, and what did the others promise?
            line.answer(1)
        early.lines[1].answer(1)
        teller.answer()
        assert told(hands) == ["base", "base", "base"]
        _only_the_late_one_is_made(hands, early, late, base)


def _promised_by_one() -> tuple[Hands, Peer, int]:
    """The first server has promised it; its rank is ahead of the clock, as of one that was beaten by such a rank."""
    hands = knowing()
    base = is_set(hands, 0, "base")
    early = Peer(hands, "early")
    early.council.rank(seen=round((hands.agenda.now + 1_000.02) * 1e6))
    early.sets(base, "early")
    early.lines[0].answer(1)
    hands.pass_time(0.001)
    return hands, early, base


def _only_the_late_one_is_made(hands: Hands, early: Peer, late: Peer, base: int) -> None:
    """It is made by the first and the last; the early one goes on with the first and the second."""
    hands.pass_time(0.001)
    answers = late.sets(base, "late")
    late.answer(0, 2)
    assert made(answers)
    early.lines[1].answer(1)
    early.lines[2].break_off()
    early.answer(0, 1)
    assert made(early.answers) == 0
    later = Peer(hands, "later")
    answers = later.looks()
    later.answer()
    assert [text for _, text in seen(answers)] == ["late"]
