"""Leading by turns on real servers, which are stopped, killed, held up and started again meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from typing import TypeAlias

import pytest

from dibs import Dibs, Leader, Term
from dibs.config import Config
from dibs.events import Acquired, CampaignStalled, JoinedQueue, Lost
from dibs.model.backoff import LONGEST_PAUSE
from dibs.runtime.clock import boottime
from dibs.stores import open_store
from dibs.testing.contract import Diary
from tests.chaos.colours import BOTH
from tests.chaos.stage import LONG, Stage
from tests.client import candidates
from tests.client.successions import Successions
from tests.servers.fixtures import on_valkey_9
from tests.servers.server import Server

TTL = 1.0
LATE = 1.0
"""How long after its TTL a dead leader may be without a successor."""
PATIENCE = 0.5

Loop: TypeAlias = Callable[[Leader, Callable[[Term], object]], None]
"""Lead each term, as long as what is done in it says so."""


def by_thread(leader: Leader, goes_on: Callable[[Term], object]) -> None:
    for term in leader.terms():
        if not goes_on(term):
            break


def by_task(leader: Leader, goes_on: Callable[[Term], object]) -> None:
    async def main() -> None:
        async for term in leader.terms():
            if not await asyncio.to_thread(goes_on, term):
                break

    asyncio.run(main())


in_both_colours = pytest.mark.parametrize("loop", [by_thread, by_task], ids=BOTH)

OUTAGES: dict[str, tuple[Callable[[Server], None], Callable[[Server], None]]] = {
    "stopped": (Server.stop, Server.start),
    "killed": (Server.kill, Server.start),
    "held up": (Server.pause, Server.resume),
}
in_each_outage = pytest.mark.parametrize(("fall", "rise"), OUTAGES.values(), ids=OUTAGES)

Act: TypeAlias = Callable[[Server], None]


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


@pytest.fixture
def diary() -> Diary:
    return Diary()


@pytest.fixture
def d(private_server: Server, diary: Diary) -> Iterator[Dibs]:
    with client(private_server, diary) as d:
        yield d


def client(server: Server, diary: Diary) -> Dibs:
    return Dibs(open_store(server.url), observers=[diary], config=Config(patience=PATIENCE))


def aside(act: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=act)
    thread.start()
    return thread


class Seat:
    """Who leads, as those see it who do; whoever comes later is told."""

    def __init__(self) -> None:
        self._leading: list[int] = []
        self.fences: list[int] = []
        self.overlaps: list[tuple[int, ...]] = []

    @contextmanager
    def taken_by(self, term: Term) -> Generator[None]:
        self._leading.append(term.fence)
        self.fences.append(term.fence)
        if len(self._leading) > 1:
            self.overlaps.append(tuple(self._leading))
        yield
        self._leading.remove(term.fence)


@on_valkey_9
@pytest.mark.thorough
class TestOutages:
    @in_both_colours
    @in_each_outage
    def test_a_leader_whose_server_goes_away_leads_again_when_it_is_back(
        self, private_server: Server, d: Dibs, diary: Diary, loop: Loop, fall: Act, rise: Act
    ) -> None:
        led, helpers = list[Term](), list[threading.Thread]()

        def recover() -> None:
            diary.wait_for(CampaignStalled, 1)
            rise(private_server)

        def goes_on(term: Term) -> bool:
            led.append(term)
            if len(led) == 2:
                term.ensure()
                return False
            fall(private_server)
            diary.wait_for(Lost, 1)
            assert term.ended
            helpers.append(aside(recover))
            return True

        loop(d.leader("billing", ttl=TTL), goes_on)
        helpers.pop().join(LONG)
        assert led[0].fence < led[1].fence
        assert (led[0].lost, led[1].lost) == (True, False)

    @in_both_colours
    def test_who_stands_before_there_is_a_server_leads_once_there_is_one(
        self, private_server: Server, d: Dibs, diary: Diary, loop: Loop
    ) -> None:
        private_server.stop()
        led = SimpleQueue[int]()
        candidate = aside(lambda: loop(d.leader("billing"), lambda term: led.put(term.fence)))
        [stalled] = diary.wait_for(CampaignStalled, 1)
        assert stalled.name == "billing"
        assert led.empty()
        private_server.start()
        assert led.get(timeout=LONG) > 0
        candidate.join(LONG)

    @in_both_colours
    @in_each_outage
    def test_one_leads_at_a_time_through_an_outage(
        self, private_server: Server, loop: Loop, fall: Act, rise: Act
    ) -> None:
        is_lost, seat, diaries = threading.Event(), Seat(), [Diary() for _ in range(3)]

        def goes_on(term: Term) -> bool:
            with seat.taken_by(term):
                if len(seat.fences) == 1:
                    assert is_lost.wait(LONG)
                    assert term.lost
                    return True
                term.ensure()
            return False

        def stand(d: Dibs) -> None:
            with d:
                loop(d.leader("billing", ttl=TTL, on_lost=lambda _: is_lost.set()), goes_on)

        first, *others = [partial(stand, client(private_server, diary)) for diary in diaries]
        standing = [aside(first)]
        diaries[0].wait_for(Acquired, 1)
        standing += [aside(other) for other in others]
        for diary in diaries[1:]:
            diary.wait_for(JoinedQueue, 1)
        fall(private_server)
        for diary in diaries:
            diary.wait_for(CampaignStalled, 1)
        rise(private_server)
        for thread in standing:
            thread.join(LONG)
        assert seat.overlaps == []
        assert seat.fences == sorted(set(seat.fences))
        assert len(seat.fences) == 4, "one was lost, and then each of them has led"

    @in_both_colours
    @in_each_outage
    def test_a_leader_killed_in_an_outage_is_followed_when_that_is_over(
        self, private_server: Server, d: Dibs, diary: Diary, stage: Stage, loop: Loop, fall: Act, rise: Act
    ) -> None:
        leader = stage.start(candidates.lead, "blocking", private_server.url, TTL)
        [fence, _] = leader.hear("leads")
        led = SimpleQueue[tuple[int, float]]()
        successor = aside(lambda: loop(d.leader("billing", ttl=TTL), lambda term: led.put((term.fence, boottime()))))
        diary.wait_for(JoinedQueue, 1)
        fall(private_server)
        leader.kill()
        diary.wait_for(CampaignStalled, 1)
        assert led.empty()
        rise(private_server)
        back_at = boottime()
        next_fence, led_at = led.get(timeout=LONG)
        assert next_fence > fence
        assert led_at < back_at + TTL + LONGEST_PAUSE + LATE
        successor.join(LONG)


class TestProcesses(Successions):
    @pytest.fixture
    def url(self, server_url: str) -> str:
        return server_url
