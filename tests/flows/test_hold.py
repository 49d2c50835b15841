"""A lease as its own process sees it."""

from __future__ import annotations

import gc
from math import inf
from weakref import ref

import pytest

from dibs.flows.hold import EVICTED, FORGOTTEN, RAN_OUT, REACHED_MAX_HOLD, Hold
from dibs.model.request import Request
from dibs.model.tenure import NOT_RENEWED, Tenure, Verdict


def taken(*, ttl: float = 30.0, renew: bool = True, max_hold: float | None = None) -> Hold:
    """A lease asked for at 100 s."""
    request = Request("a", ttl, purpose="report", renew=renew, max_hold=max_hold)
    return Hold(request, "ann-1", 7, Tenure(ttl, 100.0))


def test_a_lease_is_trusted_by_its_own_clock() -> None:
    hold = taken()
    assert [hold.check(now) for now in (100.0, 110.0, 120.0)] == [Verdict.KEEP, Verdict.RENEW, Verdict.UNSURE]
    assert hold.loss() is None


def test_a_loss_once_seen_is_final() -> None:
    hold = taken()
    assert hold.check(127.0) is Verdict.LOST
    assert hold.check(100.0) is Verdict.LOST
    loss = hold.loss()
    assert loss is not None
    assert (loss.name, loss.fence, loss.reason) == ("a", 7, RAN_OUT)


def test_the_first_reason_stands() -> None:
    hold = taken()
    hold.lose(EVICTED)
    hold.lose(FORGOTTEN)
    hold.check(127.0)
    assert hold.lost_because == EVICTED


def test_what_was_let_go_is_over_but_not_lost() -> None:
    hold = taken()
    hold.end()
    hold.lose(FORGOTTEN)
    assert hold.check(100.0) is Verdict.LOST
    assert (hold.is_over, hold.loss()) == (True, None)


def test_a_lease_is_let_go_and_its_loss_told_by_one_only() -> None:
    hold = taken()
    assert (hold.end(), hold.end()) == (True, False)
    assert (hold.first_to_tell(), hold.first_to_tell()) == (True, False)


def test_a_renewal_prolongs_trust() -> None:
    hold = taken()
    hold.prolong(Tenure(30.0, 110.0), 112.0)
    assert hold.tenure == Tenure(30.0, 110.0)
    assert hold.check(127.0) is Verdict.RENEW


def test_a_renewal_answered_out_of_order_takes_no_trust_away() -> None:
    hold = taken()
    hold.prolong(Tenure(30.0, 113.0), 114.0)
    hold.prolong(Tenure(30.0, 110.0), 115.0)
    assert hold.tenure == Tenure(30.0, 113.0)


def test_a_renewal_answered_after_trust_ended_does_not_bring_it_back() -> None:
    hold = taken()
    hold.prolong(Tenure(30.0, 126.0), 127.0)
    assert (hold.tenure, hold.lost_because) == (Tenure(30.0, 100.0), RAN_OUT)


def test_a_lease_is_renewed_by_its_whole_ttl() -> None:
    assert taken().renewal(110.0) == 30.0


def test_max_hold_caps_the_last_renewal() -> None:
    assert taken(max_hold=35.0).renewal(110.0) == 25.0


def test_a_renewal_that_would_add_nothing_is_not_wanted() -> None:
    assert taken(max_hold=30.0).renewal(110.0) is None
    assert taken().renewal(100.0) is None


@pytest.mark.parametrize(
    ("hold", "due_at"),
    [(taken(), 110.0), (taken(renew=False), inf), (taken(max_hold=30.0), inf), (taken(max_hold=31.0), 110.0)],
)
def test_the_keeper_asks_for_more_after_a_third_if_more_is_wanted(hold: Hold, due_at: float) -> None:
    assert hold.renew_at() == due_at


def test_a_renewal_that_is_on_its_way_is_not_sent_again_at_once() -> None:
    hold = taken()
    hold.retry_at = 113.0
    assert hold.renew_at() == 113.0


@pytest.mark.parametrize(
    ("hold", "reason"),
    [
        (taken(), RAN_OUT),
        (taken(max_hold=1_000.0), RAN_OUT),
        (taken(renew=False), NOT_RENEWED),
        (taken(max_hold=30.0), REACHED_MAX_HOLD),
    ],
)
def test_a_loss_says_why(hold: Hold, reason: str) -> None:
    hold.check(127.0)
    assert hold.lost_because == reason


def test_a_lease_is_suspiciously_old_once() -> None:
    hold = taken(ttl=3.0)
    assert not hold.is_newly_long(130.0)
    assert hold.is_newly_long(130.5)
    assert not hold.is_newly_long(131.0)


def test_age_counts_from_the_grant_and_not_from_the_last_renewal() -> None:
    hold = taken()
    hold.prolong(Tenure(30.0, 110.0), 111.0)
    assert hold.held_for(125.0) == 25.0


class Bearer:
    """What the user has in hand."""


def test_a_lease_is_forsaken_once_its_bearer_is_garbage() -> None:
    hold, bearer = taken(), Bearer()
    hold.bearer = ref(bearer)
    assert not hold.is_forsaken()
    assert hold.lives_by() is bearer
    del bearer
    gc.collect()
    assert hold.is_forsaken()
    assert hold.lives_by() is None


def test_a_lease_that_nobody_bears_is_not_forsaken() -> None:
    assert not taken().is_forsaken()
    assert taken().lives_by() is None
