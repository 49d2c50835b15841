"""A server that has forgotten the sheets is told them by the others, answer by answer, while all goes on."""

from __future__ import annotations

from tests.stores.quorum.hands import Hands
from tests.stores.quorum.sheets import Peer, forgets, is_set, knowing, made, told


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
