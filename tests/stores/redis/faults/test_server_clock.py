"""The server's wall clock is set: holders learn of it at the next renewal, fences rise, and all goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dibs import LeaseLost
from dibs.events import JoinedQueue, Lost
from tests.chaos.losses import Loss
from tests.chaos.moments import IN_TIME, ends_within, so
from tests.servers.fixtures import on_valkey_9
from tests.servers.server import Server
from tests.stores.redis.faults.party import NAME, Party, renewed
from tests.stores.redis.faults.skew import NO_SHIM, Skewed, at_true_time, environment, shim_in

TTL = 1.0
NEXT_RENEWAL = TTL / 3
STEP = 60

pytestmark = pytest.mark.skipif(bool(NO_SHIM), reason=NO_SHIM)


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shim_in(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def skewed(start_server: Callable[..., Server], shim: Path, tmp_path: Path) -> Skewed:
    file = at_true_time(tmp_path)
    return Skewed(start_server(env=environment(shim, file)), file)


@on_valkey_9
def test_a_clock_set_forward_is_noticed_at_the_next_renewal(party: Party, skewed: Skewed) -> None:
    holder, waiter = party.join(skewed.server.url), party.join(skewed.server.url)

    async def scene() -> None:
        loss = Loss()
        lease = await party.enter(holder, ttl=TTL, on_lost=loss)
        skewed.set(STEP)
        with ends_within(NEXT_RENEWAL + IN_TIME):
            await holder.happened(so(lambda: lease.lost))
        assert "no longer knows it" in loss.reason(lease)
        with pytest.raises(LeaseLost):
            await holder.release(lease)
        for face in (waiter, holder):  # who knew the clock as it was gets the lock all the same
            await party.visit(face, ttl=TTL, wait=2)

    party.play(scene())
    party.leaves_nothing(skewed.server)


@on_valkey_9
def test_a_waiter_gets_in_when_a_clock_was_set_forward_and_two_believe_no_longer_than_to_a_renewal(
    party: Party, skewed: Skewed
) -> None:
    holder, waiter = party.join(skewed.server.url), party.join(skewed.server.url)

    async def scene() -> None:
        lease = await holder.acquire(NAME, ttl=TTL)
        party.witness.counts(lease)
        second = waiter.start(party.follow(waiter, ttl=TTL))
        await waiter.seen(JoinedQueue)
        skewed.set(STEP)
        with ends_within(TTL + IN_TIME):
            with ends_within(NEXT_RENEWAL + IN_TIME):
                await holder.happened(so(lambda: lease.lost))
            await second.finish()
        with pytest.raises(LeaseLost):
            await holder.release(lease)
        await party.visit(holder, ttl=TTL, wait=2)

    party.play(scene())
    party.leaves_nothing(skewed.server)


@pytest.mark.parametrize("ahead", [0, STEP], ids=["true-before", "ahead-before"])
@on_valkey_9
def test_a_clock_set_back_takes_no_lock_from_its_holder(party: Party, skewed: Skewed, ahead: int) -> None:
    skewed.set(ahead)
    holder, waiter = party.join(skewed.server.url), party.join(skewed.server.url)

    async def scene() -> None:
        lease = await party.enter(holder, ttl=TTL)
        second = waiter.start(party.visit(waiter, ttl=TTL))
        await waiter.seen(JoinedQueue)
        skewed.set(ahead - STEP)
        await holder.happened(renewed(lease))
        lease.ensure()
        await party.leave(holder, lease)
        with ends_within(TTL):
            await second.finish()
        await party.visit(holder, ttl=TTL, wait=2)
        assert not holder.diary.of(Lost)

    party.play(scene())
    party.leaves_nothing(skewed.server)
