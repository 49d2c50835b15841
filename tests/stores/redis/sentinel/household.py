"""Clients that find their master by its sentinels."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

import pytest

from dibs.stores import open_store
from dibs.testing.contract.faces import AsyncFace, BlockingFace, Face
from tests.chaos.moments import so
from tests.servers.sentinels import House
from tests.servers.server import Server
from tests.stores.redis.faults.party import Party

T = TypeVar("T")

SOON = 1.0
"""How long after its failover a service is used again by all who used it before."""


class Household(Party):
    """They may be sent to any store."""

    def join(self, url: str) -> Face:
        store = open_store(url)
        made = BlockingFace if self._colour == "blocking" else AsyncFace
        face: Face = made(store, namespace=self.namespace)
        self._clients.append(face.client)
        return face

    def told_by(self, server: Server) -> int:
        """How many lines of its clients listen there."""
        return len(server.ask("PUBSUB", "CHANNELS", "dibs-*"))


async def meanwhile(face: Face, act: Callable[[], T]) -> T:
    """What comes of it, while the scene stands still and its client goes on."""
    done, outcome = threading.Event(), Future[T]()

    def hand() -> None:
        try:
            outcome.set_result(act())
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            outcome.set_exception(error)
        done.set()

    # Not a pool's: its end would wait for the hand, and with it the event loop, however long that takes.
    threading.Thread(target=hand, daemon=True).start()
    await face.happened(done)
    return outcome.result()


def by_command(house: House) -> Server:
    """Somebody wants another master."""
    return house.fail_over()


def by_kill(house: House) -> Server:
    """The master dies."""
    before = house.master
    before.kill()
    return house.next_master(before)


def by_stop(house: House) -> Server:
    """The master stands still, with all connections open."""
    before = house.master
    before.pause()
    return house.next_master(before)


def by_isolation(house: House) -> Server:
    """Sentinels and replicas do not reach the master any more; its clients do."""
    before = house.master
    house.cut_off(before)
    return house.next_master(before)


def each_of(*cases: Any) -> pytest.MarkDecorator:
    """Pairs of a colour and a way to fail over: not all, as each takes some seconds."""
    return pytest.mark.parametrize(("household", "fail_over"), cases, indirect=["household"])


def thorough(*cases: tuple[str, object]) -> list[Any]:
    """Those that `make test` can do without."""
    return [pytest.param(*case, marks=pytest.mark.thorough) for case in cases]


def followers() -> list[threading.Thread]:
    """The threads of this process that follow a sentinel."""
    return [thread for thread in threading.enumerate() if thread.name == "dibs-sentinel"]


def nothing_is_left_running() -> None:
    """Whoever has hung up follows nobody any more."""
    assert so(lambda: not followers()).wait(5), followers()
