"""Windows of functions that run once in each, by the clock of the store."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from dibs import Dibs
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import Diary
from tests.client.others import Blocking, Colour


class Clock:
    """The store's, which only the test moves."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC).timestamp()

    def __call__(self) -> float:
        return self.now

    def at(self, text: str) -> None:
        self.now = datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def clocked(clock: Clock, diary: Diary) -> Iterator[Dibs]:
    """A client of a store whose clock is ours."""
    with Dibs(MemoryBackend(clock=clock), observers=[diary]) as client:
        yield client


def test_a_window_ends_with_the_calendar_of_the_store(clocked: Dibs, clock: Clock, colour: Colour) -> None:
    hourly = colour.of(clocked.once("job:{key}", per="1h"), str.upper)
    clock.at("2026-03-04 05:59:58")
    assert hourly("a") == "A"
    clock.at("2026-03-04 05:59:59.999")
    assert hourly("a").why == "done"
    clock.at("2026-03-04 06:00:00")
    assert hourly("a") == "A"
    assert hourly("a").why == "done"


def test_a_run_belongs_to_the_window_in_which_it_was_claimed(clocked: Dibs, clock: Clock, colour: Colour) -> None:
    def body(key: str) -> str:
        clock.at("2026-03-04 06:00:01")
        return key.upper()

    clock.at("2026-03-04 05:59:59")
    assert colour.of(clocked.once("job:{key}", per="1h"), body)("a") == "A"
    assert colour.of(clocked.once("job:{key}", per="1h"), str.upper)("a") == "A", "another window has begun"


@pytest.mark.parametrize(
    ("options", "last", "first"),
    [
        ({"per": "1d"}, "2026-03-28 23:59:59", "2026-03-29 00:00:00"),
        ({"per": "1d", "tz": "Europe/Berlin"}, "2026-03-29 21:59:59", "2026-03-29 22:00:00"),
        ({"per": "1d", "tz": timezone(timedelta(hours=2))}, "2026-03-28 21:59:59", "2026-03-28 22:00:00"),
        ({"per": "1w"}, "2026-03-29 23:59:59", "2026-03-30 00:00:00"),
        ({"per": "month"}, "2026-03-31 23:59:59", "2026-04-01 00:00:00"),
        ({"per": "month", "tz": "Europe/Berlin"}, "2026-03-31 21:59:59", "2026-03-31 22:00:00"),
    ],
)
def test_windows_of_a_place(clocked: Dibs, clock: Clock, options: dict[str, Any], last: str, first: str) -> None:
    daily = Blocking.of(clocked.once("job:{key}", **options), str.upper)
    clock.at("2026-03-28 23:30:00" if "Berlin" in str(options) else "2026-03-28 20:30:00")
    assert daily("a") == "A"
    clock.at(last)
    assert daily("a").why == "done"
    clock.at(first)
    assert daily("a") == "A"


def test_the_long_day_and_the_short_one_have_one_run_each(clocked: Dibs, clock: Clock) -> None:
    daily = Blocking.of(clocked.once("job:{key}", per="1d", tz="Europe/Berlin"), str.upper)
    for begins, hours in (("2026-03-28 23:00", 23), ("2026-10-24 22:00", 25)):
        clock.at(begins)
        runs = 0
        for _ in range(hours * 4):
            runs += daily("a") == "A"
            clock.now += 900
        assert runs == 1
        assert daily("a") == "A", "the next day has begun"


def test_since_the_last_success_counts_from_its_end(clocked: Dibs, clock: Clock, colour: Colour) -> None:
    warm = colour.of(clocked.once("warm:{key}", per="5m", since="success"), str.upper)
    clock.at("2026-03-04 05:04:59")
    assert warm("a") == "A"
    clock.at("2026-03-04 05:09:58")
    assert warm("a").why == "done"
    clock.at("2026-03-04 05:10:01")
    assert warm("a") == "A"


@pytest.mark.parametrize("ahead", [-86400.0, 86400.0])
def test_the_clock_of_a_client_does_not_matter(
    clocked: Dibs, clock: Clock, colour: Colour, ahead: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: clock.now + ahead)
    daily = colour.of(clocked.once("job:{key}", per="1h"), str.upper)
    assert daily("a") == "A"
    skipped = daily("a")
    assert (skipped.why, skipped.since) == ("done", clock.now)
