"""In shadow mode everything runs as if alone, and what dibs would have done is told."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator

import pytest

import dibs
from dibs import ConfigError, Dibs, Lease, NoFence, Shadowed
from dibs.config import Config
from dibs.events import Abandoned, Lost, PolicyOver, Stumbled, WouldHaveFailed, WouldHaveSkipped, WouldHaveWaited
from dibs.flows.counting import Tally
from dibs.flows.shadowing import LONGEST_DELAY
from dibs.model.counts import MOST_NAMES, OTHERS
from dibs.runtime.clock import boottime
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import Diary
from dibs.testing.outage import Outage, Trouble
from tests.client.visits import Visit, by_thread, in_both_colours
from tests.servers.fixtures import there
from tests.servers.kinds import VALKEY_9, Kind
from tests.servers.server import Server

SHADOW = Config(mode="shadow")


@pytest.fixture
def server_kind() -> Kind:
    """One is enough."""
    return there(VALKEY_9)


@pytest.fixture
def store() -> MemoryBackend:
    return MemoryBackend()


@pytest.fixture
def outage(store: MemoryBackend) -> Outage:
    return Outage(store)


@pytest.fixture
def d(outage: Outage, diary: Diary) -> Iterator[Dibs]:
    """One that only watches."""
    with Dibs(outage, config=SHADOW, observers=[diary]) as client:
        yield client


@pytest.fixture
def other(store: MemoryBackend) -> Iterator[Dibs]:
    """One that locks in earnest, on the same store."""
    with Dibs(store) as client:
        yield client


def fence(lease: Lease) -> int | None:
    try:
        return lease.fence
    except NoFence:
        return None


@in_both_colours
def test_one_who_is_alone_holds_the_true_lock(d: Dibs, other: Dibs, diary: Diary, visit: Visit) -> None:
    def look(lease: Lease) -> None:
        held = other.inspect("a").held
        assert held is not None
        assert held.fence == lease.fence
        assert lease.policy is None

    visit(d, "a", look)
    other.lock("a", wait=10).acquire().release()
    assert d.shadow_report() == [Shadowed("a", runs=1, waited=0, skipped=0, failed=0)]
    assert not diary.of(WouldHaveWaited)


@in_both_colours
def test_one_who_would_have_waited_enters_at_once(d: Dibs, other: Dibs, diary: Diary, visit: Visit) -> None:
    with other.lock("a") as theirs:
        began_at = boottime()
        assert visit(d, "a", fence) is None
        assert boottime() - began_at < LONGEST_DELAY
        theirs.ensure()
        held = other.inspect("a")
        assert held.held is not None
        assert held.held.fence == theirs.fence
        assert not held.waiters, "who only watches stands in no queue"
    [event] = diary.of(WouldHaveWaited)
    assert (event.name, event.waiters) == ("a", 0)
    assert event.holder
    assert d.shadow_report() == [Shadowed("a", runs=1, waited=1, skipped=0, failed=0)]


@in_both_colours
def test_one_who_would_have_been_refused_enters_at_once(d: Dibs, other: Dibs, diary: Diary, visit: Visit) -> None:
    with other.lock("a"):
        assert visit(d, "a", fence, wait=0) is None
        with d.try_lock("a") as lease:
            assert lease is not None
    assert [event.name for event in diary.of(WouldHaveSkipped)] == ["a", "a"]
    assert d.shadow_report() == [Shadowed("a", runs=2, waited=0, skipped=2, failed=0)]


def test_two_who_watch_see_each_other(d: Dibs, store: MemoryBackend) -> None:
    with Dibs(store, config=SHADOW) as second:
        with d.lock("a"), second.lock("a"):
            pass
        with d.lock("a"):
            pass
        assert [lock.stopped for lock in second.shadow_report()] == [1]
        assert [lock.stopped for lock in d.shadow_report()] == [0]


@in_both_colours
def test_runs_one_after_another_are_not_in_each_other_s_way(d: Dibs, visit: Visit) -> None:
    for _ in range(50):
        visit(d, "a", fence)
    [report] = d.shadow_report()
    assert (report.runs, report.stopped) == (50, 0)


def test_tasks_one_after_another_are_not_in_each_other_s_way(d: Dibs) -> None:
    async def main() -> None:
        for _ in range(50):
            async with d.lock("a"):
                pass

    asyncio.run(main())
    [report] = d.shadow_report()
    assert (report.runs, report.stopped) == (50, 0)


def test_one_who_would_wait_for_oneself_is_told_of(d: Dibs, diary: Diary) -> None:
    with d.lock("a"), d.lock("a"):
        pass
    [event] = diary.of(WouldHaveFailed)
    assert "already held here" in event.why
    [report] = d.shadow_report()
    assert (report.runs, report.failed) == (2, 1)


@in_both_colours
@pytest.mark.parametrize("trouble", ["refused", "says no", "asks lost", "answers lost"])
def test_a_store_in_trouble_stops_nobody(d: Dibs, outage: Outage, diary: Diary, visit: Visit, trouble: Trouble) -> None:
    outage.trouble = trouble
    for _ in range(5):
        began_at = boottime()
        assert visit(d, "a", fence) is None
        assert boottime() - began_at < LONGEST_DELAY + 0.1
    assert len(diary.of(WouldHaveFailed)) == 5
    assert d.shadow_report() == [Shadowed("a", runs=5, waited=0, skipped=0, failed=5)]
    outage.trouble = "none"


def test_a_silent_store_is_not_asked_each_time(d: Dibs, outage: Outage) -> None:
    outage.trouble = "asks lost"
    by_thread(d, "a", fence)
    began_at = boottime()
    for _ in range(100):
        by_thread(d, "a", fence)
    assert boottime() - began_at < LONGEST_DELAY
    outage.trouble = "none"


def test_what_would_have_been_done_without_the_store_would_not_have_failed(
    d: Dibs, outage: Outage, diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dibs.flows.outage.ASK_EVERY", 0.0)
    outage.trouble = "refused"
    by_thread(d, "a", fence, on_outage="open")
    assert not diary.of(WouldHaveFailed)
    outage.trouble = "says no"
    by_thread(d, "a", fence, on_outage="open")
    assert len(diary.of(WouldHaveFailed)) == 1
    outage.trouble = "none"
    by_thread(d, "a", fence, on_outage="open")
    assert len(diary.of(PolicyOver)) == 1


@in_both_colours
def test_a_loss_stops_nobody(d: Dibs, other: Dibs, diary: Diary, visit: Visit) -> None:
    def look(lease: Lease) -> None:
        assert other.force_release("a", fence=lease.fence)
        diary.wait_for(Lost, 1)
        lease.ensure()
        assert not lease.lost

    visit(d, "a", look, on_lost=lambda _: diary.on(Stumbled("being told", "of a loss")))
    assert not diary.of(Stumbled)


def test_an_async_body_is_not_cancelled_when_the_true_lease_runs_out(d: Dibs, outage: Outage, diary: Diary) -> None:
    async def main() -> str:
        async with d.lock("a", ttl=0.5):
            outage.trouble = "asks lost"
            await asyncio.to_thread(diary.wait_for, Lost, 1)
            return "done"

    assert asyncio.run(main()) == "done"
    outage.trouble = "none"


def test_a_lease_that_is_dropped_leaves_nothing_behind(d: Dibs, other: Dibs, diary: Diary) -> None:
    d.lock("a").acquire()
    gc.collect()
    diary.wait_for(Abandoned, 1)
    other.lock("a", wait=10).acquire().release()


def test_a_fault_in_the_store_stops_nobody(d: Dibs, diary: Diary, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*_: object, **__: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(d._engine.desk, "store", type("Broken", (), {"acquire": fault, "time": fault})())
    assert by_thread(d, "a", fence) is None
    assert "a bug" in diary.of(Stumbled)[0].error


def test_the_report_names_no_more_locks_than_one_can_look_at() -> None:
    tally = Tally()
    for number in range(MOST_NAMES + 10):
        tally.note(f"lock-{number}", "waited")
    counted = tally.counted()
    assert len(counted) == MOST_NAMES + 1
    assert counted[OTHERS]["waited"] == 10


def test_those_with_the_most_to_say_come_first(d: Dibs, other: Dibs) -> None:
    with other.lock("b"), other.lock("c"):
        for name in "abcc":
            by_thread(d, name, fence)
    assert [lock.name for lock in d.shadow_report()] == ["c", "b", "a"]


def test_a_client_that_locks_has_no_shadow(other: Dibs) -> None:
    with pytest.raises(ConfigError, match="mode='shadow'"):
        other.shadow_report()


@in_both_colours
def test_a_real_server_that_dies_stops_nobody(private_server: Server, diary: Diary, visit: Visit) -> None:
    with dibs.connect(private_server.url, mode="shadow", observers=[diary], quiet=True) as d:
        assert visit(d, "a", fence, wait=10) is not None
        private_server.kill()
        for _ in range(3):
            began_at = boottime()
            assert visit(d, "a", fence) is None
            assert boottime() - began_at < LONGEST_DELAY + 0.25
        assert d.shadow_report() == [Shadowed("a", runs=4, waited=0, skipped=0, failed=3)]


@in_both_colours
def test_a_real_server_that_hangs_delays_nobody_for_long(private_server: Server, diary: Diary, visit: Visit) -> None:
    with dibs.connect(private_server.url, mode="shadow", observers=[diary], quiet=True) as d:
        assert visit(d, "a", fence, wait=10) is not None
        private_server.pause()
        began_at = boottime()
        assert visit(d, "a", fence) is None
        assert boottime() - began_at < LONGEST_DELAY + 0.25
        private_server.resume()
