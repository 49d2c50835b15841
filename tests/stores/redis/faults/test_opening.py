"""A connection that is just being opened: slowly, or for somebody who has gone."""

from __future__ import annotations

import asyncio

import pytest

from dibs import StoreUnreachable
from dibs.model.asks import Push
from dibs.runtime.clock import boottime
from dibs.stores.redis import open_store
from dibs.stores.redis.dialogue import Dialogue, Done
from tests.chaos.colours import BOTH
from tests.chaos.moments import IN_TIME, ends_within, so
from tests.servers.fixtures import on_valkey_9
from tests.servers.proxy import Proxy
from tests.servers.server import Server
from tests.stores.redis.faults.harm import Delay, is_quiet
from tests.stores.redis.faults.party import NAME, Party


@pytest.mark.parametrize("colour", BOTH)
@on_valkey_9
def test_a_call_ends_in_time_though_each_answer_of_the_greeting_is_slow(
    server: Server, proxy: Proxy, colour: str
) -> None:
    party = Party(colour)
    face = party.join(proxy.url)

    async def scene() -> None:
        await face.release(await face.acquire(NAME))
        await face.happened(so(lambda: is_quiet(proxy, clients=1)))
        if colour == "blocking":
            face.client._engine._wire.drop_idle()  # type: ignore[attr-defined]
        else:
            proxy.cut()
        for _ in range(7):
            proxy._plan(proxy._answers, Delay(proxy._loop, 0.4), 1, None)
        with pytest.raises(StoreUnreachable), ends_within(0.5 + IN_TIME):
            await face.acquire(NAME, wait=0.5)

    party.play(scene())
    proxy.resume()
    party.leaves_nothing(server)


class Deaf:
    def deliver(self, push: Push, asked_at: float) -> None: ...

    def ask_again(self) -> None: ...


@on_valkey_9
def test_a_line_that_is_hung_up_just_when_it_has_been_opened_is_closed(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    greet = Dialogue.greet

    async def scene() -> None:
        line = open_store(server.url).aio(Deaf(), boottime)

        def greet_and_hang_up(self: Dialogue, channel: str | None, done: Done) -> bytes:
            def answered(error: StoreUnreachable | None) -> None:
                done(error)
                line.close()  # as another thread has asked for, in the same turn of the loop

            return greet(self, channel, answered)

        monkeypatch.setattr(Dialogue, "greet", greet_and_hang_up)
        line.post((b"PING\r\n",), 0, lambda _: None)
        assert line._opening is not None
        await asyncio.wait([line._opening])
        talk, line._talk = line._talk, None
        if talk is not None:
            talk.end("so that nothing but this test fails")
        assert talk is None

    asyncio.run(scene())
