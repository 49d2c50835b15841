"""How long things take: each figure is one of those that were measured, and as many are below it as it says."""

from __future__ import annotations

from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from dibs.model.record import Record
from dibs.model.timings import Spread, duration, lateness, spread

SECONDS = st.lists(st.floats(0, 1e6), min_size=1, max_size=300)


@given(SECONDS)
def test_so_many_of_a_hundred_take_no_longer(seconds: list[float]) -> None:
    found = spread(seconds)
    assert found is not None
    for percent, figure in ((50, found.p50), (90, found.p90), (99, found.p99), (100, found.max)):
        wanted = ceil(len(seconds) * percent / 100)
        assert figure in seconds
        assert sum(each <= figure for each in seconds) >= wanted
        assert sum(each < figure for each in seconds) < wanted, "and it is the least of which that is true"


@given(SECONDS)
def test_the_order_does_not_matter(seconds: list[float]) -> None:
    assert spread(seconds) == spread(sorted(seconds))


def test_of_nothing_there_is_nothing_to_tell() -> None:
    assert spread([]) is None


def test_lateness_is_that_of_first_attempts_and_not_of_backfills() -> None:
    first = Record(100.0, "failed", 0.0, node="ann", started_at=101.0, ended_at=105.0)
    second = Record(100.0, "ok", 0.0, attempt=2, node="ann", started_at=110.0, ended_at=111.0)
    filled = Record(0.0, "ok", 0.0, source="backfill", node="ann", started_at=500.0, ended_at=502.0)
    assert lateness([first, second, filled]) == Spread(1.0, 1.0, 1.0, 1.0)
    assert duration([first, second, filled]) == Spread(2.0, 4.0, 4.0, 4.0)
