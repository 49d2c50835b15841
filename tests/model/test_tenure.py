"""How long a holder may believe that it holds."""

from __future__ import annotations

from math import nextafter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.model.tenure import Tenure, Verdict

TENURE = Tenure(ttl=30.0, asked_at=100.0)


@pytest.mark.parametrize(
    ("now", "verdict"),
    [
        (100.0, Verdict.KEEP),
        (nextafter(110.0, 0), Verdict.KEEP),
        (110.0, Verdict.RENEW),
        (nextafter(120.0, 0), Verdict.RENEW),
        (120.0, Verdict.UNSURE),
        (nextafter(127.0, 0), Verdict.UNSURE),
        (127.0, Verdict.LOST),
        (1_000.0, Verdict.LOST),
    ],
)
def test_a_verdict_changes_exactly_at_its_border(now: float, verdict: Verdict) -> None:
    assert TENURE.judge(now) is verdict


def test_a_grant_is_stale_from_half_its_ttl_on() -> None:
    assert not TENURE.is_stale(115.0)
    assert TENURE.is_stale(nextafter(115.0, 200))


def test_trust_never_moves_back() -> None:
    later, capped = Tenure(30.0, 101.0), Tenure(1.0, 110.0)
    assert TENURE.or_longer(later) is later
    assert later.or_longer(TENURE) is later
    assert TENURE.or_longer(capped) is TENURE
    assert TENURE.or_longer(Tenure(30.0, 100.0)) is TENURE


@given(st.floats(0.1, 604_800), st.floats(0, 1e7))
def test_trust_ends_before_the_store_could_let_anybody_in(ttl: float, asked_at: float) -> None:
    tenure = Tenure(ttl, asked_at)
    assert tenure.asked_at < tenure.renew_at < tenure.unsure_at < tenure.trusted_until < asked_at + ttl
