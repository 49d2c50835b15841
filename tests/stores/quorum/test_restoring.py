"""A server that has forgotten the sheets is told them by the others, answer by answer, while all goes on."""

from __future__ import annotations

from tests.stores.quorum.hands import Hands
from tests.stores.quorum.sheets import Peer, made, told


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
    hands.servers[0].forget()
    slow.answer()
    assert told(hands) == ["one", "one", None]
