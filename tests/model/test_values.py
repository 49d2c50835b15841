"""The small values and decisions: fences, backoff, the store's clock, requests and guarantees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.model.backoff import FIRST, LONGEST_PAUSE, backoff
from dibs.model.fence import next_fence
from dibs.model.guarantee import Guarantee
from dibs.model.request import Request
from dibs.model.tenure import Tenure


def test_a_fence_rises_while_the_store_remembers() -> None:
    assert next_fence(last=5_000_000_000, now=1.0, seen=0) == 5_000_000_001


def test_a_fence_rises_by_the_clock_when_the_store_has_forgotten() -> None:
    assert next_fence(last=0, now=1_700_000_000.5, seen=0) == 1_700_000_000_500_000


def test_a_fence_rises_above_what_was_seen_when_the_clock_was_set_back_as_well() -> None:
    assert next_fence(last=0, now=1.0, seen=9_000_000_000) == 9_000_000_001


@given(st.integers(0, 2**53), st.floats(0, 4e9), st.integers(0, 2**53))
def test_a_fence_is_above_all_that_is_known(last: int, now: float, seen: int) -> None:
    fence = next_fence(last=last, now=now, seen=seen)
    assert fence > last
    assert fence > seen
    assert fence >= int(now * 1_000_000)


@pytest.mark.parametrize(
    ("tries", "widest"),
    [(0, FIRST), (1, 0.1), (2, 0.2), (3, 0.4), (4, 0.8), (5, LONGEST_PAUSE), (6, LONGEST_PAUSE), (9_999, 1.0)],
)
def test_a_pause_doubles_up_to_a_bound_and_is_at_least_half_of_it(tries: int, widest: float) -> None:
    pauses = [backoff(tries, f"owner-{number}") for number in range(200)]
    assert all(widest / 2 <= pause < widest for pause in pauses)


def test_owners_do_not_march_in_step() -> None:
    assert len({backoff(3, f"owner-{number}") for number in range(100)}) == 100


def test_a_pause_can_be_repeated() -> None:
    assert backoff(3, "ann") == backoff(3, "ann")


@pytest.mark.parametrize(("wait", "is_patient"), [(None, True), (0.001, True), (5.0, True), (0.0, False)])
def test_who_waits_at_all_stands_in_the_queue(wait: float | None, is_patient: bool) -> None:
    assert Request("a", 30.0, wait=wait).is_patient is is_patient


def test_a_guarantee_says_what_it_rests_on() -> None:
    guarantee = Guarantee("best effort", "on one server", "the server's", "lost with it")
    assert str(guarantee) == "best effort, on one server. Clocks: the server's. Durability: lost with it."


def test_values_are_the_same_if_their_fields_are() -> None:
    assert Request("a", 30.0) == Request("a", 30.0) != Request("a", 31.0)
    assert len({Request("a", 30.0), Request("a", 30.0), Tenure(1.0, 2.0)}) == 2
