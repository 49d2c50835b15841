"""The server stands still, or cannot be reached: holders are told by their own clock, and calls end in time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dibs import LeaseLost, StoreUnreachable
from dibs.testing.contract.faces import Face
from tests.chaos.losses import Loss
from tests.chaos.moments import IN_TIME, ends_within, so
from tests.servers.fixtures import on_valkey_9
from tests.servers.proxy import Proxy
from tests.servers.server import Server
from tests.stores.redis.faults.harm import is_quiet
from tests.stores.redis.faults.party import NAME, Party

TTL = 1.0
WAIT = 0.5


class Way:
    """To a server, with something that can befall it."""

    def __init__(self, server: Server, proxy: Proxy, trouble: str) -> None:
        self.server, self._proxy, self._trouble = server, proxy, trouble

    def is_quiet(self, clients: int) -> bool:
        """Whether nobody is just about to connect, or to be answered."""
        return is_quiet(self._proxy, clients=clients)

    @property
    def url(self) -> str:
        return self._proxy.url

    def close(self) -> None:
        """From now on nobody gets an answer."""
        match self._trouble:
            case "paused":
                self.server.pause()
            case "blackholed":
                self._proxy.blackhole()
            case _:
                self._proxy.refuse()
                self._proxy.cut()

    def open(self) -> None:
        """All is well again."""
        if self._trouble == "paused":
            self.server.resume()
        else:
            self._proxy.resume()


@pytest.fixture(params=["paused", "refused", pytest.param("blackholed", marks=pytest.mark.thorough)])
def way(request: pytest.FixtureRequest, private_server: Server) -> Iterator[Way]:
    with Proxy(private_server.port) as proxy:
        yield Way(private_server, proxy, request.param)


async def gives_up_in_time(face: Face, name: str) -> None:
    with pytest.raises(StoreUnreachable), ends_within(WAIT + IN_TIME):
        await face.acquire(name, ttl=TTL, wait=WAIT)


@on_valkey_9
def test_a_holder_is_told_in_time_and_calls_end_in_time(party: Party, way: Way) -> None:
    holder, known, new = party.join(way.url), party.join(way.url), party.join(way.url)

    async def scene() -> None:
        loss = Loss()
        lease = await party.enter(holder, ttl=TTL, on_lost=loss)
        await known.release(await known.acquire("warm"))
        await known.happened(so(lambda: way.is_quiet(2)))
        way.close()
        for name in (NAME, "other"):
            calls = [face.start(gives_up_in_time(face, name)) for face in (holder, known, new)]
            for call in calls:
                await call.finish()
        assert "ran out" in loss.reason(lease)
        with pytest.raises(LeaseLost):
            lease.ensure()
        way.open()
        for face in (new, known, holder):
            await party.visit(face, ttl=TTL)
        with pytest.raises(LeaseLost):
            await holder.release(lease)

    party.play(scene())
    party.leaves_nothing(way.server)


@on_valkey_9
def test_those_who_wait_through_a_silence_get_in_after_it(party: Party, way: Way) -> None:
    holder, waiter = party.join(way.url), party.join(way.url)

    async def scene() -> None:
        lease = await party.enter(holder, ttl=TTL)
        second = waiter.start(party.visit(waiter, ttl=TTL))
        await holder.happened(so(lambda: bool(waiter.client._engine.desk.tickets) and way.is_quiet(2)))
        way.close()
        await holder.happened(so(lambda: lease.lost))
        way.open()
        await second.finish()

    party.play(scene())
    party.leaves_nothing(way.server)
