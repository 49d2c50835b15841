"""One server's clock jumps, another forgets all: a resource that checks fences accepts nothing that comes too late."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from time import perf_counter

import pytest

import dibs
from dibs.errors import LeaseLost, StoreUnreachable
from dibs.events import StoreRisky
from dibs.testing.contract import Diary
from tests.chaos.moments import so
from tests.servers.fixtures import FIRST, there
from tests.servers.quorums import url_of
from tests.servers.server import Server
from tests.servers.skew import NO_SHIM, Skewed, at_true_time, environment

TTL = 0.5


class Account:
    """What the lock protects. It refuses who comes with an older fence, and finds out two who have the same."""

    def __init__(self) -> None:
        self._changing = threading.Condition()
        self.fence, self.writer, self.accepted, self.refused = 0, "", 0, 0
        self.twice: list[int] = []
        self.fallen: list[tuple[int, int]] = []
        self.newest_entered = 0

    def enter(self, fence: int, asked_after: int) -> None:
        """A section begins; `asked_after` is the newest fence that was there when it was asked for."""
        with self._changing:
            if fence <= asked_after:
                self.fallen.append((asked_after, fence))
            self.newest_entered = max(fence, self.newest_entered)

    def write(self, fence: int, writer: str) -> None:
        with self._changing:
            if fence < self.fence:
                self.refused += 1
                return
            if fence == self.fence and writer != self.writer:
                self.twice.append(fence)
            self.fence, self.writer = fence, writer
            self.accepted += 1
            self._changing.notify_all()

    def overtakes(self, fence: int) -> None:
        """Wait until somebody with a newer fence has written; nobody may come any more, when all others are done."""
        with self._changing:
            self._changing.wait_for(lambda: self.fence > fence, 2 * TTL)


async def _work(url: str, account: Account, worker: str, *, sections: int) -> None:
    random = Random(worker)
    async with dibs.connect(url, quiet=True) as client:
        for number in range(sections):
            asked_after = account.newest_entered
            try:
                lease = await client.lock("a", ttl=TTL, renew=False, wait=30).aacquire()
            except StoreUnreachable:
                continue
            account.enter(lease.fence, asked_after)
            is_slow = random.random() < 0.003
            if is_slow:
                await asyncio.to_thread(account.overtakes, lease.fence)  # and writes all the same
            account.write(lease.fence, f"{worker}/{number}")
            try:
                await lease.arelease()
            except (LeaseLost, StoreUnreachable):
                continue


def _crew(url: str, account: Account, number: int, *, sections: int) -> None:
    async def whole() -> None:
        await asyncio.gather(*(_work(url, account, f"{number}.{each}", sections=sections) for each in range(3)))

    asyncio.run(whole())


@pytest.fixture
def servers(shim: Path, tmp_path: Path) -> Iterator[tuple[list[Server], Skewed]]:
    file = at_true_time(tmp_path)
    with ExitStack() as stack:
        odd = stack.enter_context(Server(there(FIRST), env=environment(shim, file)))
        others = [stack.enter_context(Server(there(FIRST))) for _ in range(4)]
        yield [odd, *others], Skewed(odd, file)


@pytest.mark.skipif(bool(NO_SHIM), reason=NO_SHIM)
@pytest.mark.parametrize("sections", [100, pytest.param(1_700, marks=pytest.mark.thorough)])
def test_no_late_write_is_accepted_while_a_clock_jumps_and_a_server_forgets(
    servers: tuple[list[Server], Skewed], sections: int
) -> None:
    [odd, *others], skewed = servers
    url, account = url_of([odd.port, *(server.port for server in others)]), Account()
    crews = [
        threading.Thread(target=_crew, args=(url, account, number), kwargs={"sections": sections})
        for number in range(2)
    ]
    for crew in crews:
        crew.start()
    milestones = [0.25, 0.5, 0.75]
    while any(crew.is_alive() for crew in crews):
        crews[0].join(0.01)
        crews[1].join(0.01)
        if milestones and account.accepted > milestones[0] * 6 * sections:
            done = milestones.pop(0)
            if done == 0.25:
                skewed.step(60)
            elif done == 0.5:
                others[0].kill()
                others[0].restart(empty=True)
            else:
                skewed.step(-60)
    assert not account.twice
    assert not account.fallen
    assert account.accepted > 5 * sections
    assert not milestones
    if sections > 100:
        assert account.refused > 0  # or nobody was ever late


def test_a_server_that_forgot_is_not_counted_until_the_longest_ttl_is_over() -> None:
    with ExitStack() as stack:
        three = [stack.enter_context(Server(there(FIRST))) for _ in range(3)]
        with dibs.connect(url_of([server.port for server in three]), quiet=True) as client:
            mine = client.lock("a", ttl=2).acquire()
            three[0].flush()
            three[1].pause()
            with pytest.raises(StoreUnreachable, match="have forgotten"):  # of the two that are there one knows nothing
                client.lock("b", ttl=2, wait=0.5).acquire()
            three[1].resume()

            def counts_again() -> bool:
                client.lock("b", ttl=2, wait=5).acquire().release()
                return bool(three[0].ask("EXISTS", "dibs:~born"))

            began = perf_counter()
            assert so(counts_again).wait(10)
            assert perf_counter() - began > 1
            three[1].pause()
            theirs = client.lock("b", ttl=2, wait=10).acquire()  # it counts again, and stands in for another
            assert theirs.fence > mine.fence
            three[1].resume()


def test_servers_that_may_forget_what_they_answered_are_told_of() -> None:
    diary = Diary()
    with ExitStack() as stack:
        three = [stack.enter_context(Server(there(FIRST), appendonly=True)) for _ in range(3)]
        url = url_of([server.port for server in three])
        with dibs.connect(url, quiet=True, observers=[diary]) as client, client.lock("a"):
            [risky] = diary.wait_for(StoreRisky, 1)
            assert "appendfsync to always" in str(risky.findings)
        for server in three:
            server.ask("CONFIG", "SET", "appendfsync", "always")
        calm = Diary()
        with dibs.connect(url, quiet=True, observers=[calm]) as client:
            client.lock("a").acquire().release()
            client.lock("a", ttl=0.3).acquire(), client.inspect("a")
        assert not calm.of(StoreRisky)


@pytest.mark.skipif(bool(NO_SHIM), reason=NO_SHIM)
@pytest.mark.parametrize("seconds", [60, -60])
def test_a_client_goes_on_when_the_clocks_of_all_servers_are_set(shim: Path, tmp_path: Path, seconds: int) -> None:
    file = at_true_time(tmp_path)
    with ExitStack() as stack:
        servers = [stack.enter_context(Server(there(FIRST), env=environment(shim, file))) for _ in range(3)]
        d = stack.enter_context(dibs.connect(url_of([server.port for server in servers]), quiet=True))
        with d.lock("stock", wait=5) as before:
            pass
        for server in servers:
            Skewed(server, file).set(seconds)
        with d.lock("stock", wait=5) as after:
            assert after.fence > before.fence
