"""The proof of the demo: the ledger must see what a bad lock would do, and see nothing where all is well."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dibs.cli.demo.ledger import Ledger, Visit


@dataclass
class Clock:
    """Stands still until a test moves it."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(tmp_path: Path, clock: Clock) -> Iterator[Ledger]:
    with Ledger.create(tmp_path / "ledger.sqlite", ["a", "b"], now=clock) as ledger:
        yield ledger


def test_one_after_the_other_is_well(ledger: Ledger) -> None:
    for worker, fence in (("a", 1), ("b", 2), ("b", 5)):
        seen = ledger.enter(worker, fence, until=101)
        assert seen is not None
        assert ledger.write(worker, fence, seen + 1, until=101)
    tally = ledger.tally()
    assert (tally.writes, tally.value, tally.handovers, tally.turns) == (3, 3, 2, {"a": 1, "b": 2})
    assert (tally.newest, tally.faults()) == (5, [])


def test_two_hands_on_the_file_see_the_same(ledger: Ledger, tmp_path: Path, clock: Clock) -> None:
    with Ledger(tmp_path / "ledger.sqlite", now=clock) as other:
        assert ledger.enter("a", 1, until=101) == 0
        assert other.inside() == Visit(1, "a")
        assert ledger.write("a", 1, 1, until=101)
        assert other.enter("b", 2, until=101) == 1
        assert not ledger.present()
        other.sign_in("b")
        assert ledger.present() == {"b"}


def test_two_inside_at_once_are_an_overlap(ledger: Ledger) -> None:
    assert ledger.enter("a", 1, until=101) == 0
    assert ledger.enter("b", 2, until=101) == 0
    assert not ledger.write("a", 1, 1, until=101)
    assert ledger.write("b", 2, 1, until=101)
    tally = ledger.tally()
    assert (tally.overlaps, tally.refused, tally.writes) == (1, 1, 1)
    assert tally.faults() == ["leases that stood at the same time as another: 1"]


def test_one_who_was_killed_inside_is_no_overlap_once_its_lease_is_over(ledger: Ledger, clock: Clock) -> None:
    ledger.enter("a", 1, until=101)
    clock.now = 101.1
    assert ledger.enter("b", 2, until=102) == 0
    assert ledger.visit(1) == Visit(1, "a", overtaken_at=101.1, heir="b")
    ledger.forget(1)
    assert ledger.visit(1) is None
    assert ledger.write("b", 2, 1, until=102)
    assert ledger.tally().faults() == []


def test_one_whose_lock_was_given_away_before_its_lease_was_over_is_an_overlap_even_if_it_was_killed(
    ledger: Ledger, clock: Clock
) -> None:
    ledger.enter("a", 1, until=101)
    clock.now = 100.9
    ledger.enter("b", 2, until=102)
    assert ledger.tally().overlaps == 1


def test_the_late_write_of_one_who_was_paused_is_refused_and_no_overlap(ledger: Ledger, clock: Clock) -> None:
    ledger.enter("a", 1, until=101)
    clock.now = 101.1
    ledger.enter("b", 2, until=102)
    assert not ledger.write("a", 1, 1, until=0)
    assert ledger.write("b", 2, 1, until=102)
    tally = ledger.tally()
    assert (tally.refused, tally.value, tally.faults()) == (1, 1, [])


def test_one_who_was_overtaken_and_still_trusts_its_lease_is_an_overlap(ledger: Ledger, clock: Clock) -> None:
    ledger.enter("a", 1, until=101)
    clock.now = 101.1
    ledger.enter("b", 2, until=102)
    assert not ledger.write("a", 1, 1, until=101.5), "it was renewed, so it says"
    assert ledger.tally().overlaps == 1


def test_one_who_comes_too_late_is_refused_and_no_overlap_unless_it_still_trusts_its_lease(ledger: Ledger) -> None:
    ledger.enter("b", 7, until=101)
    assert ledger.enter("a", 6, until=99.9) is None
    tally = ledger.tally()
    assert (tally.refused, tally.overlaps) == (1, 0)
    assert ledger.enter("a", 6, until=100.5) is None
    tally = ledger.tally()
    assert (tally.refused, tally.overlaps) == (2, 1)


def test_a_fence_that_comes_twice_is_a_fault(ledger: Ledger) -> None:
    ledger.enter("a", 1, until=101)
    ledger.write("a", 1, 1, until=101)
    assert ledger.enter("b", 1, until=101) is None
    assert not ledger.write("a", 1, 2, until=101), "a turn is one write"
    assert ledger.tally().faults() == ["fences that came twice: 1"]


def test_a_write_that_forgets_another_is_a_fault(ledger: Ledger) -> None:
    for fence in (1, 2):
        ledger.enter("a", fence, until=101)
        ledger.write("a", fence, 1, until=101)
    assert ledger.tally().faults() == ["writes that were lost: 1 of 2"]


def test_a_contest_that_nobody_entered_proves_nothing(ledger: Ledger) -> None:
    assert ledger.tally().faults() == ["nobody ever got inside"]


def test_a_job_that_was_done_twice_for_one_second_is_a_fault(ledger: Ledger) -> None:
    ledger.note_done("a", 1, 1000)
    assert not ledger.begin(2, 1000)
    assert ledger.begin(2, 1001)
    ledger.note_done("b", 2, 1001)
    ledger.note_done("b", 3, 1001)
    tally = ledger.tally()
    assert (tally.ticks, tally.last_tick, tally.last_tick_by, tally.twice) == (2, 1001, "b", 1)
    assert "seconds whose job was done twice: 1" in tally.faults()
    assert ledger.ticks(1001) == {1001}


def test_a_job_that_is_done_late_by_one_who_was_overtaken_is_refused(ledger: Ledger) -> None:
    ledger.note_done("b", 2, 1000)
    ledger.note_done("a", 1, 1000)
    tally = ledger.tally()
    assert (tally.refused, tally.twice) == (1, 0)


def test_a_ledger_that_somebody_is_stopped_in_is_not_free(ledger: Ledger, tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.sqlite") as other:
        assert ledger.is_free()
        with other._transaction():
            assert not ledger.is_free()
        assert ledger.is_free()


def test_a_job_that_another_has_begun_meanwhile_is_refused_though_it_is_not_done_yet(ledger: Ledger) -> None:
    """The first was paused within the job and goes on while the second is at it."""
    assert ledger.begin(1, 1000)
    assert ledger.begin(2, 1000)
    ledger.note_done("a", 1, 1000)
    ledger.note_done("b", 2, 1000)
    tally = ledger.tally()
    assert (tally.refused, tally.twice) == (1, 0)
