"""The server's wall clock is set: holders learn of it at the next renewal, fences rise, and all goes on."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import time

import pytest

from dibs import LeaseLost
from dibs.events import JoinedQueue, Lost
from tests.chaos.losses import Loss
from tests.chaos.moments import IN_TIME, ends_within, so
from tests.servers.fixtures import on_valkey_9
from tests.servers.server import Server
from tests.stores.redis.faults.party import NAME, Party, renewed

TTL = 1.0
NEXT_RENEWAL = TTL / 3
STEP = 60

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="no LD_PRELOAD on this machine")


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled for this run."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc on this machine")
    made = tmp_path_factory.mktemp("shim") / "skew.so"
    source = Path(__file__).with_name("skew.c")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", str(made), str(source)], check=True)
    return made


class Skewed:
    """A server whose clock can be set."""

    def __init__(self, server: Server, file: Path) -> None:
        self.server, self._file = server, file

    def set(self, seconds: int) -> None:
        """So far from the true time; a server may take a moment to look at its clock."""
        with self._file.open("r+b") as file:
            file.write(seconds.to_bytes(8, sys.byteorder, signed=True))
        assert so(lambda: abs(int(self.server.ask("TIME")[0]) - time() - seconds) < 5).wait(5)


@pytest.fixture
def skewed(start_server: Callable[..., Server], shim: Path, tmp_path: Path) -> Skewed:
    file = tmp_path / "skew"
    file.write_bytes(bytes(8))
    return Skewed(start_server(env={"LD_PRELOAD": str(shim), "SKEW_FILE": str(file)}), file)


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
