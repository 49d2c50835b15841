"""A server may forget the scripts at any time: it is told them again, and nobody notices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf

import pytest

from dibs.errors import StoreRefused
from dibs.events import JoinedQueue, Lost
from dibs.model.asks import Memo
from dibs.model.counts import Count
from dibs.model.sheet import Change, Entry
from dibs.stores.redis.scripts import ALL
from dibs.testing.contract.faces import Face
from tests.chaos.moments import ends_within, so
from tests.servers.fixtures import on_valkey_9
from tests.servers.server import Server
from tests.stores.redis.asker import PLAIN, Asker
from tests.stores.redis.faults.party import NAME, Party, renewed

SOON = 0.5
"""An ask that was refused is asked again after a pause; this is more than enough for it."""


@pytest.fixture
def party(party: Party, server: Server) -> Iterator[Party]:
    yield party
    party.leaves_nothing(server)


@pytest.fixture
def face(party: Party, server_url: str) -> Face:
    return party.join(server_url)


def forget(server: Server) -> None:
    server.ask("SCRIPT", "FLUSH", "SYNC")


async def warm(face: Face) -> None:
    await face.release(await face.acquire("warm"))


def test_the_scripts_are_forgotten_before_an_acquire(party: Party, face: Face, server: Server) -> None:
    async def scene() -> None:
        await warm(face)
        forget(server)
        with ends_within(SOON):
            lease = await face.acquire(NAME, wait=SOON)
        await face.release(lease)

    party.play(scene())


def test_the_scripts_are_forgotten_before_a_lock_is_tried(party: Party, face: Face, server: Server) -> None:
    async def scene() -> None:
        await warm(face)
        forget(server)
        lease = await face.try_acquire(NAME)
        assert lease is not None
        await face.release(lease)

    party.play(scene())


def test_the_scripts_are_forgotten_before_a_release(party: Party, face: Face, server: Server) -> None:
    async def scene() -> None:
        lease = await face.acquire(NAME)
        forget(server)
        with ends_within(SOON):
            await face.release(lease)
        assert not server.ask("EXISTS", party.key())

    party.play(scene())


def test_the_scripts_are_forgotten_while_somebody_waits(
    party: Party, face: Face, server: Server, server_url: str
) -> None:
    waiter = party.join(server_url)

    async def scene() -> None:
        lease = await party.enter(face, ttl=30)
        second = waiter.start(party.visit(waiter, ttl=30))
        await waiter.seen(JoinedQueue)
        forget(server)
        with ends_within(SOON):
            await party.leave(face, lease)
            await second.finish()

    party.play(scene())


@on_valkey_9
def test_the_scripts_are_forgotten_before_a_renewal(party: Party, face: Face, server: Server) -> None:
    async def scene() -> None:
        lease = await face.acquire(NAME, ttl=1)
        next_renewal = renewed(lease)
        forget(server)
        await face.happened(next_renewal)
        lease.ensure()
        forget(server)
        await face.extend(lease)
        await face.release(lease)
        assert not face.diary.of(Lost)

    party.play(scene())


@on_valkey_9
def test_the_scripts_are_forgotten_while_a_ticket_is_kept_alive(
    party: Party, face: Face, server: Server, server_url: str
) -> None:
    waiter = party.join(server_url)

    async def scene() -> None:
        lease = await party.enter(face, ttl=30)
        second = waiter.start(party.visit(waiter, ttl=0.9))
        await waiter.seen(JoinedQueue)
        expiries = f"{{{party.key()}}}~expiries"
        [owner] = server.ask("ZRANGE", expiries, "0", "-1")
        until = server.ask("ZSCORE", expiries, owner)
        forget(server)
        await face.happened(so(lambda: server.ask("ZSCORE", expiries, owner) not in (until, None)))
        assert server.ask("ZCARD", expiries) == 1
        with ends_within(SOON):
            await party.leave(face, lease)
            await second.finish()

    party.play(scene())


ASKED: dict[str, Callable[[Asker], object]] = {
    "acquire": lambda asker: asker.acquire("ann", PLAIN),
    "enter": lambda asker: asker.acquire("ann"),
    "together": lambda asker: asker.together(("a", asker.wish("ann")), ("b", asker.wish("ann"))),
    "keep": lambda asker: asker.keep_alive("ann"),
    "leave": lambda asker: asker.leave("ann"),
    "leave a memo": lambda asker: asker.leave("ann", memo=Memo("done", 1e10)),
    "evict": lambda asker: asker.evict(1),
    "inspect": lambda asker: asker.seen().holders,
    "held": lambda asker: asker.listed(),
    "recall": lambda asker: asker.recall().text,
    "count": lambda asker: asker.ask(asker.locks.count([Count("a", "acquired", 1)])),
    "due": lambda asker: asker.due(),
    "sheets": lambda asker: asker.sheet(),
    "amend": lambda asker: asker.ask(asker.locks.amend([Change("a", 0, "text", None, -inf, inf)])),
    "named": lambda asker: asker.named(),
    "note": lambda asker: asker.note("a", Entry(1e9, "noted"), keep_for=1e10),
    "lines": lambda asker: asker.history(),
}


def test_every_script_is_asked_for_here() -> None:
    assert {script.name for script in ALL} - {"time"} == {asked.partition(" ")[0] for asked in ASKED}


@pytest.mark.parametrize("asked", ASKED.values(), ids=list(ASKED))
def test_whatever_is_asked_for_was_not_done_and_can_be_asked_again(
    asker: Asker, server: Server, asked: Callable[[Asker], object]
) -> None:
    asker.now()
    forget(server)
    with pytest.raises(StoreRefused, match=r"NOSCRIPT.*ask again"):
        asked(asker)
    assert not server.ask("KEYS", "*")
    asked(asker)
