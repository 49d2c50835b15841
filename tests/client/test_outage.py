"""A silent store: told apart from a busy lock, in time, and nothing is left behind when it comes back."""

from __future__ import annotations

import asyncio
import threading
from queue import SimpleQueue

import pytest

from dibs import Dibs, LeaseLost, StoreUnreachable
from dibs.events import Acquired, Lost, StoreBack, StoreSilent
from dibs.runtime.clock import boottime
from dibs.testing.contract import Diary
from dibs.testing.outage import Outage, Trouble

TROUBLES: list[Trouble] = ["refused", "asks lost", "answers lost"]


@pytest.fixture
def connected(d: Dibs) -> Dibs:
    """A client whose store was well once."""
    with d.lock("warm"):
        return d


def until_free(d: Dibs, name: str) -> None:
    d.lock(name, wait=10).acquire().release()


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_wait_ends_in_time_and_says_that_nobody_knows(connected: Dibs, outage: Outage, trouble: Trouble) -> None:
    outage.trouble = trouble
    began = boottime()
    with pytest.raises(StoreUnreachable) as unknown:
        connected.lock("a", wait=0.3).acquire()
    assert 0.29 <= boottime() - began <= 0.3 + 0.25
    assert unknown.value.server == "memory://"
    outage.trouble = "none"
    until_free(connected, "a")


@pytest.mark.parametrize("trouble", TROUBLES)
def test_an_async_wait_ends_in_time_and_says_that_nobody_knows(
    connected: Dibs, outage: Outage, trouble: Trouble
) -> None:
    async def main() -> None:
        await (await connected.lock("warm").aacquire()).arelease()
        outage.trouble = trouble
        began = boottime()
        with pytest.raises(StoreUnreachable):
            await connected.lock("a", wait=0.3).aacquire()
        assert 0.29 <= boottime() - began <= 0.3 + 0.25
        outage.trouble = "none"
        await (await connected.lock("a", wait=10).aacquire()).arelease()

    asyncio.run(main())


@pytest.mark.parametrize("wait", [None, 0])
def test_two_seconds_of_silence_are_enough_where_no_wait_says_otherwise(
    connected: Dibs, outage: Outage, wait: int | None
) -> None:
    outage.trouble = "asks lost"
    began = boottime()
    with pytest.raises(StoreUnreachable):
        connected.lock("a", wait=wait).acquire()
    assert 1.9 <= boottime() - began <= 2.5


def test_a_lock_taken_by_a_lost_answer_is_given_back(connected: Dibs, outage: Outage) -> None:
    outage.trouble = "answers lost"
    with pytest.raises(StoreUnreachable):
        connected.lock("a", wait=0.2).acquire()
    outage.trouble = "none"
    until_free(connected, "a")
    assert connected.inspect("a").state == "free"


def test_a_short_silence_is_waited_out(connected: Dibs, outage: Outage, diary: Diary) -> None:
    outage.trouble = "refused"

    async def main() -> None:
        waiter = asyncio.create_task(connected.lock("a", wait=10).aacquire())
        await asyncio.to_thread(outage.wait_for_asks, 3)
        outage.trouble = "none"
        await (await waiter).arelease()

    asyncio.run(main())
    assert len(diary.of(Acquired)) == 2


def test_a_holder_is_told_of_its_loss_by_its_own_clock(connected: Dibs, outage: Outage) -> None:
    ttl, told_at = 2.0, SimpleQueue[float]()
    began = boottime()
    lease = connected.lock("a", ttl=ttl, on_lost=lambda _: told_at.put(boottime())).acquire()
    outage.trouble = "asks lost"
    assert told_at.get(timeout=10) - began < ttl
    with pytest.raises(LeaseLost, match="ran out"):
        lease.ensure()
    outage.trouble = "none"
    with pytest.raises(LeaseLost):
        lease.release()


@pytest.mark.parametrize("trouble", TROUBLES)
def test_an_async_body_is_stopped_when_the_store_falls_silent(
    connected: Dibs, outage: Outage, trouble: Trouble
) -> None:
    async def main() -> None:
        began = boottime()
        with pytest.raises(LeaseLost, match="ran out"):
            async with connected.lock("a", ttl=0.5):
                outage.trouble = trouble
                await asyncio.Event().wait()
        assert boottime() - began < 1  # the loss is told without waiting for the store

    asyncio.run(main())
    outage.trouble = "none"
    until_free(connected, "a")


def test_a_blocking_body_learns_of_the_loss_and_not_of_the_silence(
    connected: Dibs, outage: Outage, diary: Diary
) -> None:
    began = boottime()
    with pytest.raises(LeaseLost, match="ran out"), connected.lock("a", ttl=0.5):
        outage.trouble = "asks lost"
        diary.wait_for(Lost, 1)
    assert boottime() - began < 1
    outage.trouble = "none"


def test_a_store_that_only_refuses_for_a_while_is_asked_again(connected: Dibs, outage: Outage) -> None:
    lease = connected.lock("a").acquire()
    outage.trouble = "refused"

    def heal() -> None:
        outage.wait_for_asks(2)
        outage.trouble = "none"

    healer = threading.Thread(target=heal)
    healer.start()
    lease.release()
    healer.join()
    assert connected.inspect("a").state == "free"


def test_silence_and_return_are_told_once(connected: Dibs, outage: Outage, diary: Diary) -> None:
    lease = connected.lock("a", ttl=6).acquire()
    outage.trouble = "asks lost"
    diary.wait_for(StoreSilent, 1)
    outage.trouble = "none"
    [back] = diary.wait_for(StoreBack, 1)
    assert back.after > 2
    lease.ensure()
    lease.release()
    assert len(diary.of(StoreSilent)) == 1


def test_a_release_nobody_heard_is_owed_until_it_is_answered(connected: Dibs, outage: Outage) -> None:
    lease = connected.lock("a", ttl=60).acquire()
    outage.trouble = "asks lost"
    with pytest.raises(StoreUnreachable):
        lease.release()
    outage.trouble = "none"
    until_free(connected, "a")  # long before its TTL is over


def test_the_body_s_exception_wins_over_a_failed_release(connected: Dibs, outage: Outage) -> None:
    with pytest.raises(KeyError) as raised, connected.lock("a"):
        outage.trouble = "refused"
        raise KeyError("mine")
    assert "no word from memory://" in raised.value.__notes__[0]
    outage.trouble = "none"


def test_closing_does_not_hang_on_a_silent_store(connected: Dibs, outage: Outage) -> None:
    lease = connected.lock("a").acquire()
    outage.trouble = "asks lost"
    with pytest.raises(StoreUnreachable):
        lease.release()
    began = boottime()
    connected.close()
    assert boottime() - began < 5
