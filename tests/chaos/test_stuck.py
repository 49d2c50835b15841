"""A program that stands still in the middle of a write: the others are told, in time, and go on when it has gone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

import dibs
from dibs import Dibs, StoreUnreachable
from dibs.runtime.clock import boottime
from tests.chaos.cast import fail_to_take, freeze_in_a_write
from tests.chaos.colours import BOTH, colour
from tests.chaos.losses import Loss
from tests.chaos.moments import IN_TIME
from tests.chaos.stage import Actor, Stage


@pytest.fixture
def warm(d: Dibs) -> Dibs:
    """A client that has used its store already, in both colours."""
    with d.lock("warm"):
        return d


@pytest.fixture
def frozen(stage: Stage, url: str, warm: Dibs) -> Iterator[Actor]:
    """It has changed the file, and stands before its commit."""
    program = stage.start(freeze_in_a_write, url, "frozen")
    program.stops()
    yield program
    program.kill()


def unreachable(kind: str, d: Dibs, wait: float | None) -> tuple[str, float]:
    """What is said of the store, and after how long."""
    me, told = colour(kind), list[tuple[str, float]]()

    async def scene() -> None:
        began = boottime()
        with pytest.raises(StoreUnreachable) as unknown:
            await me.take(d.lock("a", wait=wait))
        told.append((str(unknown.value), boottime() - began))

    me.play(scene())
    return told[0]


@pytest.mark.parametrize("kind", BOTH)
def test_a_wait_ends_in_time_and_says_what_may_be_wrong(frozen: Actor, warm: Dibs, url: str, kind: str) -> None:
    text, after = unreachable(kind, warm, wait=0.5)
    assert 0.45 < after < 0.5 + IN_TIME
    assert url in text
    assert "keeps it locked" in text or "no answer" in text


@pytest.mark.parametrize("kind", BOTH)
def test_two_seconds_are_enough_where_no_wait_says_otherwise(frozen: Actor, warm: Dibs, kind: str) -> None:
    _, after = unreachable(kind, warm, wait=None)
    assert 1.9 < after < 2.0 + 2 * IN_TIME


def test_a_program_that_comes_to_a_locked_file_is_told_in_time_too(frozen: Actor, stage: Stage, url: str) -> None:
    newcomer = stage.start(fail_to_take, url, "a", 0.5)
    [text, after] = newcomer.hear("StoreRefused")
    assert 0.45 < after < 0.5 + IN_TIME
    assert url in text
    assert "stopped in the middle of a write" in text
    newcomer.ends()


def test_a_lease_that_cannot_be_renewed_ends_before_its_ttl(stage: Stage, url: str, warm: Dibs) -> None:
    loss = Loss()
    lease = warm.lock("held", ttl=2, on_lost=loss).acquire()
    program = stage.start(freeze_in_a_write, url, "frozen")
    program.stops()
    assert "ran out" in loss.reason(lease)
    program.go_on()
    program.hear("in")
    program.ends()
    warm.lock("held", wait=10).acquire().release()


def test_locks_can_still_be_looked_at(frozen: Actor, warm: Dibs) -> None:
    assert warm.inspect("warm").state == "free"
    assert not warm.locks()


def test_closing_does_not_wait_for_ever(frozen: Actor, url: str) -> None:
    began = boottime()
    with dibs.connect(url, quiet=True) as d, pytest.raises(StoreUnreachable):
        d.lock("a", wait=0.2).acquire()
    assert boottime() < began + 5


@pytest.mark.parametrize("kind", BOTH)
def test_everything_goes_on_when_the_program_does(frozen: Actor, warm: Dibs, kind: str) -> None:
    unreachable(kind, warm, wait=0.2)
    frozen.go_on()
    [fence] = frozen.hear("in")
    frozen.ends()
    lease = warm.lock("frozen", wait=10).acquire()
    assert lease.fence > fence
    lease.release()
    assert not warm.locks()


@pytest.mark.parametrize("kind", BOTH)
def test_everything_goes_on_when_the_program_is_killed(frozen: Actor, warm: Dibs, kind: str) -> None:
    unreachable(kind, warm, wait=0.2)
    frozen.kill()
    warm.lock("frozen", wait=10).acquire().release()  # what it had begun to write is gone
    assert not warm.locks()


def test_those_who_wait_meanwhile_get_in_afterwards(frozen: Actor, warm: Dibs) -> None:
    async def scene() -> None:
        waiters = [asyncio.create_task(warm.lock(f"lock {number}", wait=20).aacquire()) for number in range(20)]
        await asyncio.to_thread(unreachable, "blocking", warm, 0.3)
        frozen.go_on()
        for lease in await asyncio.gather(*waiters):
            await lease.arelease()

    asyncio.run(scene())
    assert not warm.locks()
