"""What people see of a lock when they look."""

from __future__ import annotations

from math import nextafter

import pytest

from dibs.model.asks import Held
from dibs.model.lock import Holder, LockState, Ticket
from dibs.model.views import LockView, Waiter, view

LOCK = LockState(
    (Holder("secret", 7, ttl=30.0, since=100.0, expires_at=130.0, channel="c", who="ann", purpose="report"),),
    (
        Ticket("secret-1", 5.0, 125.0, "c", "bob", "backup", 0, 101.0),
        Ticket("secret-2", 5.0, 105.0, "c", "cay", "", 0, 102.0),
    ),
)


def test_a_lock_nobody_has_is_free() -> None:
    seen = view("a", LockState(), 100.0)
    assert (seen.state, seen.held, seen.waiters) == ("free", None, ())


def test_a_view_shows_the_holder_and_the_living_queue_but_no_token() -> None:
    seen = view("a", LOCK, 110.0)
    ann, bob = Held("ann", "report", 100.0, 30.0, 20.0, 7), Waiter("bob", "backup", 101.0)
    assert seen == LockView("a", 110.0, (ann,), (bob,))
    assert "secret" not in repr(seen)


def test_a_lease_that_ran_out_is_not_shown() -> None:
    seen = view("a", LOCK, 130.0)
    assert seen == LockView("a", 130.0)
    assert seen.state == "free"


@pytest.mark.parametrize(("now", "state"), [(100.0, "held"), (120.0, "held"), (nextafter(120.0, 200), "expiring")])
def test_a_lease_whose_renewal_is_overdue_is_expiring(now: float, state: str) -> None:
    assert view("a", LOCK, now).state == state
