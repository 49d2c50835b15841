"""Locks that are refused again and again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import pytest

import dibs
from dibs import Dibs
from dibs.events import Acquired, Adopted, CallSkipped, Event, FoundBusy, LetInAgain, RefusedInARow
from dibs.observe.refusals import MOST_NAMES, Refusals
from dibs.testing.contract import Diary


class Room:
    """An observer, what it tells, and its clock."""

    def __init__(self, after: int) -> None:
        self.now = 100.0
        self.told: list[Event] = []
        self.refusals = Refusals(after, self.told.append, lambda: self.now)

    def refuse(self, name: str, times: int = 1, *, holder: str = "host:1") -> None:
        for _ in range(times):
            self.refusals.on(FoundBusy(name, holder, 0.0))
            self.now += 1

    def let_in(self, name: str) -> None:
        self.refusals.on(Acquired(name, 7, 0.0))


def test_so_many_refusals_in_a_row_are_told_once_for_every_so_many() -> None:
    room = Room(3)
    room.refuse("a", 2)
    assert room.told == []
    room.refuse("a", holder="host:2")
    assert room.told == [RefusedInARow("a", 3, 100.0, "host:2")]
    room.refuse("a", 5)
    assert room.told[1:] == [RefusedInARow("a", 6, 100.0, "host:1")]


@pytest.mark.parametrize("end", [Acquired("a", 7, 0.5), Adopted("a", 7)])
def test_an_acquisition_is_told_if_the_refusals_were_and_begins_anew(end: Event) -> None:
    room = Room(3)
    room.refuse("a", 2)
    room.refusals.on(end)
    room.refuse("a", 2)
    assert room.told == []
    room.refuse("a", 2)
    room.refusals.on(end)
    room.refusals.on(end)
    assert room.told == [RefusedInARow("a", 3, 102.0, "host:1"), LetInAgain("a", 4, 102.0)]


def test_each_lock_is_counted_by_itself() -> None:
    room = Room(2)
    room.refuse("a")
    room.refuse("b")
    room.let_in("b")
    room.refuse("b")
    assert room.told == []
    room.refuse("a")
    assert room.told == [RefusedInARow("a", 2, 100.0, "host:1")]


def test_many_names_do_not_fill_the_memory_nor_hide_a_lock_that_is_stuck() -> None:
    room = Room(100)
    for number in range(99):
        room.refuse("stuck")
        for other in range(50):
            room.refuse(f"user:{number}:{other}")
    assert room.told == []
    assert int(repr(room.refusals).split()[2]) <= MOST_NAMES
    room.refuse("stuck")
    assert room.told == [RefusedInARow("stuck", 100, 100.0, "host:1")]
    for number in range(2 * MOST_NAMES):
        room.refuse(f"late:{number}")
    room.let_in("stuck")
    assert len(room.told) == 1  # it was forgotten
    assert int(repr(room.refusals).split()[2]) <= MOST_NAMES


def test_no_refusal_is_lost_among_threads() -> None:
    room = Room(10)
    start = threading.Barrier(8)

    def crowd() -> None:
        start.wait()
        room.refuse("a", 1_000)

    threads = [threading.Thread(target=crowd) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    room.let_in("a")
    alerts = [event.times for event in room.told if isinstance(event, RefusedInARow)]
    assert sorted(alerts) == list(range(10, 8_001, 10))
    assert room.told[-1] == LetInAgain("a", 8_000, 100.0)


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    return f"memory://{request.node.name}"


@pytest.fixture
def holder(url: str) -> Iterator[Dibs]:
    with dibs.connect(url, quiet=True) as client:
        yield client


def test_a_client_that_is_asked_to_logs_it(url: str, holder: Dibs, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dibs")
    with dibs.connect(url, alert_after_refusals=2) as d:
        with holder.lock("a"):
            for _ in range(5):
                with d.try_lock("a") as lease:
                    assert lease is None
        with d.lock("a"):
            pass
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING", "INFO"]
    first, second, last = caplog.messages
    assert first.startswith("'a' was refused 2 times in a row here, since 20")
    assert f"; it is held by {holder._engine.desk.who}: is it stuck?" in first
    assert second.startswith("'a' was refused 4 times in a row here, since 20")
    assert last.startswith("'a' was had again, after 5 refusals in a row since 20")


def test_every_way_to_be_refused_counts_once(url: str, holder: Dibs) -> None:
    diary = Diary()
    with dibs.connect(url, alert_after_refusals=1, observers=[diary], quiet=True) as d, holder.lock("a"):
        with pytest.raises(dibs.LockBusy):
            d.lock("a", wait=0).acquire()
        with pytest.raises(dibs.LockBusy):
            d.lock("a", wait=0.01).acquire()
        assert not d.execute_with_lock("a", lambda: 1)
        assert not d.locked("a", on_conflict="skip")(lambda: 1)()
        assert not d.acquire_lock("a", 5)
        with pytest.raises(dibs.LockBusy):
            d.lock_all("a", "b", wait=0).acquire()
    assert len(diary.of(CallSkipped)) == 2
    assert [alert.times for alert in diary.of(RefusedInARow)] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("after", [None, 0])
def test_it_is_off_unless_asked_for(url: str, holder: Dibs, after: int | None) -> None:
    diary = Diary()
    with dibs.connect(url, alert_after_refusals=after, observers=[diary], quiet=True) as d, holder.lock("a"):
        for _ in range(20):
            with d.try_lock("a") as lease:
                assert lease is None
    assert len(diary.of(FoundBusy)) == 20
    assert not diary.of(RefusedInARow)


def test_where_nobody_listens_nothing_is_counted(url: str) -> None:
    with dibs.connect(url, quiet=True, alert_after_refusals=1) as d:
        assert d.config.alert_after_refusals == 1
        assert d._engine._observers == ()
