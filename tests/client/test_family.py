"""The relatives of the lock as people use them: blocks of both colours, one within another, and what is refused."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dibs import ConfigError, Dibs, Lease, LeaseLost, LockBusy, SelfDeadlock
from dibs.events import JoinedQueue
from dibs.runtime import inside
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import Diary


def depth(d: Dibs, name: str = "a") -> int:
    """How often the lock is entered, as its store says."""
    holders = d.inspect(name).holders
    return holders[0].depth if holders else 0


def elsewhere(act: Callable[[], object]) -> None:
    """In another thread, which is inside of nothing."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(act).result(20)


def play(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scene, 30))


class TestReentrant:
    def test_blocks_within_blocks_are_one_hold_that_ends_with_the_outermost(self, anywhere: Dibs) -> None:
        d = anywhere
        with d.rlock("a") as outer:
            with d.rlock("a", wait=0) as middle, d.rlock("a") as inner:
                assert outer.fence == middle.fence == inner.fence
                assert depth(d) == 3
            assert depth(d) == 1
            outer.ensure()
        assert d.inspect("a").state == "free"

    def test_async_blocks_do_the_same(self, anywhere: Dibs) -> None:
        d = anywhere

        async def main() -> None:
            async with d.rlock("a") as outer:
                async with d.rlock("a", wait=0) as inner:
                    assert outer.fence == inner.fence
                outer.ensure()
            assert (await d.ainspect("a")).state == "free"

        play(main())

    def test_the_colours_mix_within_one_task(self, d: Dibs) -> None:
        async def main() -> None:
            async with d.rlock("a") as outer:
                with d.rlock("a", wait=0) as inner:
                    assert inner.fence == outer.fence
                    async with d.rlock("a", wait=0):
                        assert depth(d) == 3
            assert d.inspect("a").state == "free"

        play(main())

    def test_one_object_may_be_entered_within_itself(self, d: Dibs) -> None:
        lock = d.rlock("a")
        with lock as outer, lock as inner:
            assert repr(lock) == "<RLock 'a' ttl=30s open=2>"
            assert outer.fence == inner.fence
        assert (d.inspect("a").state, repr(lock)) == ("free", "<RLock 'a' ttl=30s open=0>")

    def test_a_function_that_locks_may_call_itself(self, d: Dibs) -> None:
        def factorial(number: int) -> int:
            with d.rlock("factorial"):
                return number * factorial(number - 1) if number else 1

        assert factorial(20) == 2_432_902_008_176_640_000
        assert d.inspect("factorial").state == "free"

    def test_another_thread_or_task_is_not_inside(self, d: Dibs, diary: Diary) -> None:
        def refused() -> None:
            with pytest.raises(LockBusy), d.rlock("a", wait=0):
                pass

        async def main() -> None:
            async with d.rlock("a"):
                await asyncio.to_thread(refused)  # it has a copy of our context

                async def child() -> None:
                    async with d.rlock("a", wait=20):
                        assert depth(d) == 1

                waiter = asyncio.create_task(child())
                await asyncio.to_thread(diary.wait_for, JoinedQueue, 1)
            await waiter

        with d.rlock("a"):
            elsewhere(refused)
        play(main())

    def test_a_plain_lock_and_a_reentrant_one_of_that_name_exclude_each_other(self, d: Dibs) -> None:
        with d.lock("a"), pytest.raises(SelfDeadlock), d.rlock("a"):
            pass
        with d.rlock("a"), pytest.raises(SelfDeadlock), d.lock("a"):
            pass

    def test_a_lease_may_be_taken_again_without_a_block(self, d: Dibs) -> None:
        outer, inner = d.rlock("a").acquire(), d.rlock("a", wait=0).acquire()
        with d.rlock("a", wait=0) as innermost:
            assert outer.fence == inner.fence == innermost.fence
        outer.release()
        inner.ensure()
        inner.release()
        assert d.inspect("a").state == "free"

    def test_a_lease_that_was_dropped_cannot_be_entered_again(self, d: Dibs) -> None:
        fence = d.rlock("a", ttl=30).acquire().fence
        with d.rlock("a", wait=20) as lease:
            assert lease.fence > fence

    def test_an_inner_lease_that_was_dropped_is_over_with_the_outer_one(self, d: Dibs) -> None:
        with d.rlock("a"):
            d.rlock("a").acquire()
        d.lock("a", wait=20).acquire().release()

    def test_each_lease_is_prolonged_and_looked_at_by_itself(self, d: Dibs) -> None:
        with d.rlock("a", ttl=5) as outer, d.rlock("a", ttl=60) as inner:
            inner.extend()
            assert inner.remaining == pytest.approx(outer.remaining, abs=0.1)
            assert inner.ttl == outer.ttl == 5, "the hold is that of the outermost"


class TestWithin:
    def test_whoever_has_the_lease_may_go_in_by_it_from_any_thread(self, d: Dibs) -> None:
        with d.rlock("a") as mine:

            def work() -> None:
                with d.rlock("a", within=mine, wait=0) as lease, d.rlock("a", within=lease, wait=0):
                    assert lease.fence == mine.fence
                    assert depth(d) == 3

            elsewhere(work)
            assert depth(d) == 1

    def test_the_lock_is_held_until_the_last_of_them_has_left(self, d: Dibs) -> None:
        async def main() -> None:
            may_leave, is_in = asyncio.Event(), asyncio.Event()

            async def work(lease: Lease) -> None:
                async with d.rlock("a", within=lease) as mine:
                    is_in.set()
                    await may_leave.wait()
                    mine.ensure()

            async with d.rlock("a") as lease:
                worker = asyncio.create_task(work(lease))
                await is_in.wait()
            assert depth(d) == 1
            may_leave.set()
            await worker
            assert d.inspect("a").state == "free"

        play(main())

    def test_a_reader_s_lease_lets_others_read_but_not_write(self, d: Dibs) -> None:
        lease = d.rwlock("a").read().acquire()
        with pytest.raises(SelfDeadlock):
            d.rlock("a", within=lease).acquire()
        with pytest.raises(LockBusy):
            d.rlock("a", within=lease, wait=0).acquire()
        lease.release()

    def test_a_lease_that_is_over_lets_nobody_in(self, d: Dibs) -> None:
        lease = d.rlock("a").acquire()
        lock = d.rlock("a", within=lease)
        lease.release()
        with pytest.raises(LeaseLost, match="released by this program"):
            lock.acquire()
        with pytest.raises(LeaseLost, match="released by this program"):
            d.rlock("a", within=lease)
        assert d.inspect("a").state == "free"

    def test_a_lease_of_something_else_is_refused_by_name(self, d: Dibs) -> None:
        plain, other = d.lock("a").acquire(), d.rlock("b").acquire()
        for lease in (plain, other):
            with pytest.raises(ConfigError, match=r"within=<Lease .*d\.rlock\('a'\)"):
                d.rlock("a", within=lease)


class TestReadAndWrite:
    def test_readers_share_and_a_writer_is_alone(self, anywhere: Dibs) -> None:
        d = anywhere
        config = d.rwlock("config", wait=0)

        def write() -> None:
            with pytest.raises(LockBusy), config.write():
                pass

        def read() -> None:
            with config.read():
                assert len(d.inspect("config").holders) == 2

        with config.read():
            elsewhere(read)
            elsewhere(write)
        with config.write(), pytest.raises(LockBusy):
            elsewhere(read)

    def test_async_blocks_do_the_same(self, anywhere: Dibs) -> None:
        d = anywhere

        async def main() -> None:
            together = asyncio.Barrier(3)

            async def read() -> None:
                async with d.rwlock("config").read():
                    await together.wait()

            await asyncio.gather(read(), read(), read())
            async with d.rwlock("config").write() as lease:
                assert [held.fence for held in (await d.ainspect("config")).holders] == [lease.fence]

        play(main())

    def test_who_reads_may_read_again_though_a_writer_waits(self, d: Dibs, diary: Diary) -> None:
        def write() -> None:
            with d.rwlock("config", wait=20).write():
                pass

        with ThreadPoolExecutor(1) as pool:
            with d.rwlock("config").read():
                writer = pool.submit(write)
                diary.wait_for(JoinedQueue, 1)
                with d.rwlock("config", wait=0).read() as again:
                    again.ensure()
            writer.result(20)

    def test_who_writes_may_read_under_the_same_fence(self, d: Dibs) -> None:
        with d.rwlock("config").write() as written, d.rwlock("config").read() as read:
            assert read.fence == written.fence

    @pytest.mark.parametrize("wait", [None, 20])
    def test_who_reads_is_refused_to_wait_for_writing(self, anywhere: Dibs, wait: int | None) -> None:
        """Two readers who both waited for the other's end would wait for ever: so none may."""
        d = anywhere
        with d.rwlock("config").read() as lease:
            with pytest.raises(SelfDeadlock, match="'config' is already held here") as refused:
                d.rwlock("config", wait=wait).write().acquire()
            assert refused.value.fence == lease.fence
            lease.ensure()
            assert d.inspect("config").waiters == ()

        async def main() -> None:
            async with d.rwlock("config").read():
                with pytest.raises(SelfDeadlock):
                    async with d.rwlock("config", wait=wait).write():
                        pass

        play(main())

    def test_who_has_stopped_reading_may_write(self, d: Dibs) -> None:
        with d.rwlock("config").read() as read:
            pass
        with d.rwlock("config", wait=0).write() as written:
            assert written.fence > read.fence

    def test_it_is_not_a_block_itself(self, d: Dibs) -> None:
        with pytest.raises((AttributeError, TypeError)), d.rwlock("config"):  # type: ignore[attr-defined]
            pass


class TestPermits:
    def test_so_many_are_in_at_once(self, anywhere: Dibs) -> None:
        d = anywhere

        async def main() -> None:
            working, most = 0, 0
            all_in = asyncio.Event()

            async def work() -> None:
                nonlocal working, most
                async with d.semaphore("gpu", 3):
                    working += 1
                    most = max(most, working)
                    if working == 3:
                        all_in.set()
                    await all_in.wait()
                    await d.ainspect("gpu")
                    working -= 1

            await asyncio.gather(*(work() for _ in range(9)))
            assert (most, working) == (3, 0)

        play(main())

    def test_one_task_may_have_several_and_is_told_when_it_waits_for_itself(self, d: Dibs) -> None:
        with d.semaphore("gpu", 2) as one, d.semaphore("gpu", 2) as two:
            assert one.fence != two.fence
            with pytest.raises(SelfDeadlock), d.semaphore("gpu", 2):
                pass
            with pytest.raises(LockBusy), d.semaphore("gpu", 2, wait=0):
                pass

    def test_programs_that_disagree_about_their_number_get_the_smaller_one(self, d: Dibs) -> None:
        with d.semaphore("gpu", 5), d.semaphore("gpu", 5), pytest.raises(LockBusy):
            elsewhere(d.semaphore("gpu", 2, wait=0).acquire)

    @pytest.mark.parametrize("permits", [0, -1, 10_001, True, 2.0, "4", None])
    def test_a_wrong_number_is_named(self, d: Dibs, permits: Any) -> None:
        with pytest.raises(ConfigError) as refused:
            d.semaphore("gpu", permits)
        assert str(refused.value) == f"permits={permits!r}: from 1 to 10000"


class TestTogether:
    def test_a_block_has_a_lease_for_each_name(self, anywhere: Dibs) -> None:
        d = anywhere
        with d.lock_all("b", "a", ttl=20) as leases:
            assert [lease.name for lease in leases] == ["a", "b"]
            assert len(leases) == 2
            assert leases["a"].fence < leases["b"].fence
            assert 17 < leases.remaining <= 18
            assert not leases.lost
            leases.ensure()
            assert [view.name for view in d.locks()] == ["a", "b"]
        assert not list(d.locks())
        with pytest.raises(KeyError):
            leases["c"]

    def test_an_async_block_does_the_same(self, anywhere: Dibs) -> None:
        d = anywhere

        async def main() -> None:
            async with d.lock_all("b", "a") as leases:
                leases.ensure()
                assert len(await d.alocks()) == 2
            await leases.arelease()
            assert not await d.alocks()

        play(main())

    def test_what_was_taken_without_a_block_is_given_back_once(self, d: Dibs) -> None:
        leases = d.lock_all("a", "b").acquire()
        leases.release()
        leases.release()
        assert repr(leases).startswith("<Leases <Lease 'a' fence=")
        assert not list(d.locks())

    def test_each_lease_may_be_given_back_by_itself(self, d: Dibs) -> None:
        with d.lock_all("a", "b") as leases:
            leases["a"].release()
            with d.lock("a", wait=0):
                pass
            leases["b"].ensure()

    def test_who_is_inside_one_of_them_is_told_at_once(self, d: Dibs) -> None:
        with d.lock("b"), pytest.raises(SelfDeadlock, match="'b'"), d.lock_all("a", "b"):
            pass
        with d.lock_all("a", "b"), pytest.raises(SelfDeadlock, match="'b'"), d.lock("b"):
            pass

    def test_busy_names_the_lock_that_is(self, d: Dibs) -> None:
        lease = d.lock("b", purpose="nightly").acquire()
        with pytest.raises(LockBusy) as busy:
            d.lock_all("a", "b", "c", wait=0).acquire()
        assert (busy.value.name, busy.value.purpose, busy.value.fence) == ("b", "nightly", lease.fence)
        lease.release()

    def test_it_shows_what_it_is(self, d: Dibs) -> None:
        locks = d.lock_all("b", "a", ttl=5)
        assert (locks.name, repr(locks)) == ("a, b", "<LockAll 'a, b' ttl=5s open=0>")

    @pytest.mark.parametrize(
        ("names", "text"),
        [
            ((), "lock_all() needs at least one name"),
            (("a", "b", "a"), "lock_all() was given 'a' twice: name each lock once"),
            ((["a", "b"],), "['a', 'b'] names no lock: a lock's name is text, not list"),
            ((["a"], ["a"]), "['a'] names no lock: a lock's name is text, not list"),
            (("a", 7), "7 names no lock: a lock's name is text, not int"),
            (("a", ""), "'' names no lock"),
        ],
    )
    def test_wrong_names_are_named(self, d: Dibs, names: tuple[Any, ...], text: str) -> None:
        with pytest.raises(ConfigError) as refused:
            d.lock_all(*names)
        assert text in str(refused.value)


MAKERS: dict[str, Callable[..., Any]] = {
    "rlock": lambda d, name, **options: d.rlock(name, **options),
    "rwlock": lambda d, name, **options: d.rwlock(name, **options),
    "semaphore": lambda d, name, **options: d.semaphore(name, 2, **options),
    "lock_all": lambda d, name, **options: d.lock_all(name, **options),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
class TestOptionsOfAll:
    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ({"ttl": 0}, "ttl=0 is out of range"),
            ({"wait": -1}, "wait: -1 is negative"),
            ({"at_least": "soon"}, "at_least: 'soon' is not a duration"),
            ({"at_least": "500d"}, "at_least='500d' is out of range; it goes from 0ms to 365d"),
            ({"on_lost": 5}, "on_lost=5: give a function"),
            ({"on_outage": "skip"}, "on_outage='skip': a block cannot be skipped"),
            ({"timeout": 5}, "no such option here: timeout"),
        ],
        ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
    )
    def test_a_wrong_option_is_named(
        self, d: Dibs, make: Callable[..., Any], options: dict[str, Any], text: str
    ) -> None:
        with pytest.raises(ConfigError) as refused:
            make(d, "a", **options)
        assert text in str(refused.value)

    @pytest.mark.parametrize("name", ["", " a", 5, None, b"a", "a~line"])
    def test_a_wrong_name_is_named(self, d: Dibs, make: Callable[..., Any], name: Any) -> None:
        with pytest.raises(ConfigError) as refused:
            make(d, name)
        assert repr(name) in str(refused.value)

    def test_it_shows_what_it_is(self, d: Dibs, make: Callable[..., Any]) -> None:
        assert "'a' ttl=5s" in repr(make(d, "a", ttl=5))
        assert make(d, "a").name == "a"


class TestAtLeast:
    def test_a_lock_stays_taken_though_its_block_has_ended(self, anywhere: Dibs) -> None:
        d = anywhere
        with d.lock("hourly", at_least=0.4) as lease:
            pass
        with d.try_lock("hourly") as other:
            assert other is None
        lease.release()  # again is harmless
        with d.lock("hourly", wait=20) as later:
            assert later.fence > lease.fence
            assert 0.1 < later.waited < 5

    def test_closing_the_client_does_not_cut_it_short(self) -> None:
        backend = MemoryBackend()
        with Dibs(backend) as d, d.lock("hourly", at_least=30):
            pass
        with Dibs(backend) as other:
            assert other.try_lock("hourly").acquire() is None

    def test_one_who_works_for_longer_gives_it_back_at_once(self, d: Dibs) -> None:
        with d.lock("hourly", at_least=0.01):
            brief = d.lock("b", ttl=0.1, renew=False).acquire()
            d.lock("b", wait=20).acquire().release()  # which is free when that TTL is over
            assert brief.lost
        with d.try_lock("hourly") as other:
            assert other is not None


class TestMemory:
    """What notes who is inside of which lock must not grow with their number."""

    @pytest.fixture(autouse=True)
    def outside(self) -> None:
        """Whatever the tests before us have left open in this thread."""
        inside._innermost.set(None)

    def chain(self) -> int:
        block, length = inside._innermost.get(), 0
        while block is not None:
            block, length = block[3], length + 1
        return length

    def test_taking_and_giving_back_without_blocks_does_not_grow_it(self, d: Dibs) -> None:
        for _ in range(50):
            d.rlock("a").acquire().release()
        assert self.chain() <= 1

    def test_nor_does_it_in_tasks(self, d: Dibs) -> None:
        async def main() -> None:
            for _ in range(50):
                await (await d.rlock("a").aacquire()).arelease()
            assert self.chain() <= 1

        play(main())

    def test_nor_does_going_hand_over_hand(self, d: Dibs) -> None:
        """Each lock is taken before the one before it is given back: at no time is none held."""
        last = d.rlock("node:0").acquire()
        for number in range(1, 50):
            following = d.rlock(f"node:{number}").acquire()
            last.release()
            last = following
        assert self.chain() <= 2
        last.release()

    def test_nor_does_a_block_that_stays_open_around_it(self, d: Dibs) -> None:
        with d.rlock("outer"):
            for _ in range(50):
                d.rlock("a").acquire().release()
                with d.rlock("outer"), d.lock_all("b", "c"):
                    pass
            assert self.chain() <= 2
        assert self.chain() == 0

    def test_nor_do_leases_that_nobody_gave_back(self) -> None:
        for _ in range(50):
            with Dibs(MemoryBackend()) as brief:
                brief.rlock("a").acquire()
        gc.collect()
        with Dibs(MemoryBackend()) as d, d.rlock("a"):
            assert self.chain() == 1

    def test_nothing_is_kept_of_an_entry_that_was_left(self, d: Dibs) -> None:
        with d.rlock("a"):
            for _ in range(50):
                with d.rlock("a", on_lost=print):
                    pass
            [hold] = d._engine.desk.holds.values()
            assert (hold.depth, len(hold.watchers), len(d._engine.desk.debts)) == (1, 0, 0)
