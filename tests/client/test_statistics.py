"""Statistics are those of the whole fleet, whatever became of its processes, and cost the locks nothing."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import dibs
from dibs import ClientClosed, Dibs, LeaseLost, LockStats, Stats, StoreUnreachable
from dibs.config import Config
from dibs.events import JoinedQueue
from dibs.model.counts import MOST_NAMES, OTHERS, Count
from dibs.model.stats import Spells
from dibs.ports.store import Reply
from dibs.stores import open_store
from dibs.stores.memory import MemoryBackend
from dibs.stores.memory.wire import MemoryWire
from dibs.testing.contract import Diary
from dibs.testing.outage import Outage
from tests.chaos.children import ended_well, in_a_fork
from tests.client.others import somebody_else
from tests.client.visits import Visit, by_thread, in_both_colours, policy
from tests.servers.fixtures import there
from tests.servers.kinds import VALKEY_9, Kind
from tests.servers.server import Server

Read: TypeAlias = Callable[[Dibs], Stats]

HASTY = Config(patience=0.2)


@pytest.fixture
def server_kind() -> Kind:
    """One is enough."""
    return there(VALKEY_9)


def by_task(d: Dibs) -> Stats:
    return asyncio.run(d.astats())


read_in_both_colours = pytest.mark.parametrize("read", [Dibs.stats, by_task], ids=["blocking", "asyncio"])


def nothing(_: object) -> None:
    pass


class TestOneFleet:
    @in_both_colours
    @read_in_both_colours
    def test_a_client_sees_its_own_numbers_at_once(self, ann: Dibs, visit: Visit, read: Read) -> None:
        for _ in range(3):
            visit(ann, "a", nothing)
        seen = read(ann)
        assert (seen["a"].acquired, seen["a"].held.times, seen["a"].refused) == (3, 3, 0)
        assert seen.total.acquired == 3
        assert list(seen) == ["a"]

    @read_in_both_colours
    def test_two_clients_see_the_sum(self, ann: Dibs, bob: Dibs, read: Read) -> None:
        by_thread(ann, "a", nothing)
        by_thread(bob, "a", nothing)
        by_thread(bob, "b", nothing)
        read(ann)
        assert [read(bob)[name].acquired for name in "ab"] == [2, 1]
        assert [read(ann)[name].acquired for name in "ab"] == [2, 1]

    def test_nothing_was_counted_at_first(self, ann: Dibs) -> None:
        seen = ann.stats()
        assert (dict(seen), seen.total) == ({}, LockStats())

    def test_reading_adds_nothing(self, ann: Dibs) -> None:
        by_thread(ann, "a", nothing)
        assert ann.stats().total == ann.stats().total == ann.stats(local=True).total

    def test_another_namespace_counts_for_itself(self, ann: Dibs, url: str) -> None:
        by_thread(ann, "a", nothing)
        ann.stats()
        with dibs.connect(url, namespace="other", quiet=True) as other:
            assert dict(other.stats()) == {}

    def test_names_beyond_the_limit_are_counted_together(self, ann: Dibs, bob: Dibs) -> None:
        for number in range(10_000):
            ann._engine.desk.count(f"ann-{number:04}", "refused")
            bob._engine.desk.count(f"bob-{number:04}", "refused")
        assert len(ann.stats(local=True)) == MOST_NAMES + 1
        ann.stats()
        seen = bob.stats()
        assert len(seen) == MOST_NAMES + 1
        assert seen["ann-0000"].refused == 1
        assert seen[OTHERS].refused == 20_000 - MOST_NAMES
        assert seen.total.refused == 20_000

    def test_two_readings_make_a_rate(self, ann: Dibs) -> None:
        before = ann.stats()
        by_thread(ann, "a", nothing)
        after = ann.stats()
        assert after.at > before.at > 1e9
        assert after.total.acquired - before.total.acquired == 1

    def test_threads_that_count_and_read_at_once_miss_nothing(self, ann: Dibs, bob: Dibs) -> None:
        start = threading.Barrier(5)

        def count() -> None:
            start.wait()
            for number in range(5_000):
                ann._engine.desk.count(f"lock-{number % 7}", "held", 0.5)

        def read() -> None:
            start.wait()
            for _ in range(20):
                ann.stats()

        threads = [threading.Thread(target=work) for work in (count, count, count, count, read)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ann.stats()
        assert bob.stats().total.held == Spells(20_000, 10_000.0)


class TestWhatIsCounted:
    def test_those_who_waited_are_counted_with_their_time(self, ann: Dibs, url: str) -> None:
        diary = Diary()
        with dibs.connect(url, quiet=True, observers=[diary]) as waiter, somebody_else(ann, "a") as lease:
            thread = threading.Thread(target=by_thread, args=(waiter, "a", nothing))
            thread.start()
            diary.wait_for(JoinedQueue, 1)
            lease.release()
            thread.join()
            seen = waiter.stats(local=True)["a"]
        assert (seen.acquired, seen.waited.times) == (1, 1)
        assert seen.waited.mean == seen.waited.seconds

    def test_one_who_is_refused_is_counted(self, ann: Dibs, bob: Dibs) -> None:
        with somebody_else(ann, "a"), bob.try_lock("a") as lease:
            assert lease is None
        assert (bob.stats()["a"].refused, bob.stats()["a"].waited.times) == (1, 0)

    def test_a_lock_that_was_taken_by_force_is_lost_to_one_and_broken_by_another(self, ann: Dibs, bob: Dibs) -> None:
        lease = ann.lock("a").acquire()
        assert bob.force_release("a", fence=lease.fence)
        with pytest.raises(LeaseLost):
            lease.release()
        ann.stats()
        seen = bob.stats()["a"]
        assert (seen.acquired, seen.lost, seen.broken, seen.held.times) == (1, 1, 1, 0)

    def test_a_renewal_is_counted(self, ann: Dibs) -> None:
        with ann.lock("a") as lease:
            lease.extend()
        assert ann.stats()["a"].renewed == 1

    def test_each_use_of_a_policy_is_counted_and_known_to_all_when_the_store_is_back(self) -> None:
        outage = Outage(MemoryBackend())
        with Dibs(outage, config=HASTY) as d:
            outage.trouble = "refused"
            assert by_thread(d, "a", policy, on_outage="open") == "open"
            assert by_thread(d, "a", policy, on_outage="open") == "open"
            outage.trouble = "none"
            assert d.stats()["a"] == LockStats("a", policy_uses=2)

    def test_a_client_that_does_not_lock_counts_nothing(self) -> None:
        with Dibs(MemoryBackend(), config=Config(enabled=False)) as d:
            by_thread(d, "a", nothing)
            assert d.stats().total == LockStats()


class TestTrouble:
    @pytest.fixture
    def outage(self) -> Outage:
        return Outage(MemoryBackend())

    @pytest.fixture
    def d(self, outage: Outage) -> Iterator[Dibs]:
        with Dibs(outage, config=HASTY) as client:
            yield client

    @read_in_both_colours
    def test_a_silent_store_is_told(self, d: Dibs, outage: Outage, read: Read) -> None:
        outage.trouble = "asks lost"
        with pytest.raises(StoreUnreachable):
            read(d)

    def test_this_client_s_own_can_be_read_without_the_store(self, d: Dibs, outage: Outage) -> None:
        by_thread(d, "a", nothing)
        outage.trouble = "refused"
        asked = outage.asks
        assert d.stats(local=True)["a"].acquired == asyncio.run(d.astats(local=True))["a"].acquired == 1
        assert outage.asks == asked

    @read_in_both_colours
    def test_what_could_not_be_sent_is_sent_when_it_can_be(self, d: Dibs, outage: Outage, read: Read) -> None:
        by_thread(d, "a", nothing)
        outage.trouble = "refused"
        with pytest.raises(StoreUnreachable):
            read(d)
        outage.trouble = "none"
        assert read(d)["a"].acquired == 1

    @read_in_both_colours
    def test_what_was_sent_and_not_answered_is_not_counted_twice(self, d: Dibs, outage: Outage, read: Read) -> None:
        by_thread(d, "a", nothing)
        outage.trouble = "answers lost"
        with pytest.raises(StoreUnreachable):
            read(d)
        outage.trouble = "none"
        assert read(d)["a"].acquired == 1

    def test_a_server_that_was_killed_loses_nothing_that_was_not_sent(self, private_server: Server) -> None:
        with dibs.connect(private_server.url, quiet=True) as d:
            by_thread(d, "a", nothing)
            private_server.kill()
            with pytest.raises(StoreUnreachable):
                d.inspect("a")  # or the counts might be sent on a line of which we do not know yet that it was cut
            with pytest.raises(StoreUnreachable):
                d.stats()
            private_server.restart()
            by_thread(d, "a", nothing)
            assert d.stats()["a"].acquired == 2

    def test_a_closed_client_reads_no_more_than_its_own(self, d: Dibs) -> None:
        by_thread(d, "a", nothing)
        d.close()
        with pytest.raises(ClientClosed, match="statistics"):
            d.stats()
        assert d.stats(local=True)["a"].acquired == 1


class Witnessed(MemoryBackend):
    """A store that says when it is told of counts."""

    def __init__(self) -> None:
        super().__init__()
        self.was_told, self.told = threading.Event(), list[Sequence[Count]]()

    def execute(self, words: Sequence[Any], line: MemoryWire) -> Reply:
        reply = super().execute(words, line)
        if words[0] == "count":
            self.told.append(words[-1])
            self.was_told.set()
        return reply


class TestWhoReports:
    @in_both_colours
    def test_the_keeper_reports_by_itself(self, monkeypatch: pytest.MonkeyPatch, visit: Visit) -> None:
        monkeypatch.setattr("dibs.flows.counting.EVERY", 0.05)
        store = Witnessed()
        with Dibs(store) as d:
            visit(d, "a", nothing)
            assert store.was_told.wait(10)

    def test_one_who_only_was_refused_reports_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("dibs.flows.counting.EVERY", 0.05)
        store = Witnessed()
        with Dibs(store) as holder, Dibs(store) as d:
            lease = holder.lock("a").acquire()
            holder.stats()
            store.was_told.clear()
            with d.try_lock("a") as refused:
                assert refused is None
            assert store.was_told.wait(10)
            assert [Count("a", "refused", 1)] in store.told
            lease.release()

    @in_both_colours
    def test_one_who_closes_reports_before(self, ann: Dibs, url: str, visit: Visit) -> None:
        with dibs.connect(url, quiet=True) as d:
            visit(d, "b", nothing)
        assert ann.stats()["b"].acquired == 1

    def test_a_client_that_counted_nothing_says_nothing(self) -> None:
        store = Witnessed()
        with Dibs(store) as d:
            d.inspect("a")
        assert store.told == []

    def test_a_program_that_ends_reports_before(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/dibs.sqlite"
        code = f"import dibs; d = dibs.connect({url!r}, quiet=True); d.lock('a').acquire().release()"
        subprocess.run([sys.executable, "-c", code], check=True)
        with dibs.connect(url, quiet=True) as d:
            assert d.stats()["a"].acquired == 1

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
    @pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
    def test_a_forked_child_does_not_report_what_its_parent_counted(self, tmp_path: Path) -> None:
        with Dibs(open_store(f"sqlite:///{tmp_path}/dibs.sqlite")) as d:
            by_thread(d, "a", nothing)

            def child() -> None:
                assert d.stats(local=True).total == LockStats()
                by_thread(d, "a", nothing)
                assert d.stats()["a"].acquired == 1

            assert ended_well(in_a_fork(child))
            assert d.stats()["a"].acquired == 2


class TestTheValue:
    def test_it_can_be_read_like_a_mapping(self) -> None:
        seen = Stats(LockStats(acquired=3), {"a": LockStats("a", 1), "b": LockStats("b", 2)}, 1.5)
        assert [(name, lock.acquired) for name, lock in seen.items()] == [("a", 1), ("b", 2)]
        assert (len(seen), "a" in seen, "c" in seen, seen.get("c")) == (2, True, False, None)

    def test_it_says_what_matters_in_a_line(self) -> None:
        total = LockStats(acquired=12, refused=3, waited=Spells(2, 5.0), held=Spells(10, 0.3), lost=1)
        assert repr(Stats(total, {"a": total}, 1.5)) == (
            "<Stats of 1 locks: acquired 12, refused 3, waited 2 (mean 2.5s), held 10 (mean 30ms), renewed 0, lost 1, "
            "broken 0, policy uses 0>"
        )

    def test_who_never_waited_waited_no_time(self) -> None:
        assert Spells().mean == 0.0
        assert Spells(4, 2.0).mean == 0.5

    def test_a_word_of_a_newer_version_is_passed_over(self) -> None:
        store = MemoryBackend()
        with Dibs(store) as d:
            d._engine.tally.note("a", "teleported")
            assert d.stats()["a"] == LockStats("a")
