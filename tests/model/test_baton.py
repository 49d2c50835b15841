"""What one process tells another of a lease."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dibs.model.baton import Baton, is_plain
from dibs.model.request import Request

BATON = Baton("shop", "a", "owner", 7, 30.0, held_for=10.0)


def test_the_wish_goes_on_without_what_was_only_for_getting_it() -> None:
    baton = replace(BATON, renew=False, max_hold=60.0, at_least=5.0)
    assert baton.request == Request("a", 30.0, renew=False, max_hold=60.0, at_least=5.0)


@pytest.mark.parametrize(("max_hold", "span"), [(None, 30.0), (100.0, 30.0), (25.0, 15.0)])
def test_who_takes_it_asks_for_a_ttl_up_to_what_is_left_of_its_max_hold(max_hold: float | None, span: float) -> None:
    assert replace(BATON, max_hold=max_hold).span == span


def test_only_a_lock_that_one_alone_holds_and_holds_once_is_plain() -> None:
    assert is_plain(Request("a", 30.0))
    assert not is_plain(Request("a", 30.0, room=2))
    assert not is_plain(Request("a", 30.0, is_counted=True))
