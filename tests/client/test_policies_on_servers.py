"""The table of docs/outages.md, on real servers: stopped, held up, started again, and such that say no."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import AuthenticationError, BusyLoadingError, ConnectionError, NoPermissionError  # noqa: A004

import dibs
from dibs import Dibs, LeaseLost, StoreUnreachable
from dibs.events import JoinedQueue, Lost, PolicyOver, PolicyUsed
from dibs.stores.redis.dialogue import NOT_DONE, outcome
from dibs.stores.redis.endpoint import endpoint
from dibs.testing.contract import Diary
from tests.client.visits import Visit, in_both_colours, policy
from tests.servers.fixtures import there
from tests.servers.kinds import VALKEY_9, Kind
from tests.servers.ports import HOST, Port
from tests.servers.server import Server
from tests.stores.redis.turns import SECRET, USERS

WAIT = 0.3
PATIENT = 20.0

pytestmark = pytest.mark.usefixtures("ask_always", "here")

by_every_policy = pytest.mark.parametrize(
    "on_outage",
    ["open", *(pytest.param(policy, marks=pytest.mark.thorough) for policy in ("closed", "local"))],
)
"""Where none makes a difference."""


@pytest.fixture
def server_kind() -> Kind:
    """One is enough: what differs between them is not said before an outage."""
    return there(VALKEY_9)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine's own store, of which each test has one."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture
def ask_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """An outage is not taken for granted: each call asks anew."""
    monkeypatch.setattr("dibs.flows.outage.ASK_EVERY", 0.0)


@contextmanager
def client(url: str, diary: Diary, on_outage: Any) -> Iterator[Dibs]:
    with dibs.connect(url, on_outage=on_outage, observers=[diary], quiet=True) as d:
        yield d


@pytest.mark.thorough
class TestStoppedAndStartedAgain:
    """A server goes away in the middle of a run, and comes back."""

    @in_both_colours
    @pytest.mark.parametrize("on_outage", ["closed", "open", "local"])
    @pytest.mark.parametrize("way", ["stop", "kill"])
    def test_each_policy_does_what_the_table_says(
        self, private_server: Server, visit: Visit, on_outage: str, way: str
    ) -> None:
        diary, instead = Diary(), None if on_outage == "closed" else on_outage
        with client(private_server.url, diary, on_outage) as d:
            assert visit(d, "a", policy, wait=PATIENT) is None
            getattr(private_server, way)()
            for _ in range(2):
                if instead is None:
                    with pytest.raises(StoreUnreachable):
                        visit(d, "a", policy, wait=WAIT)
                else:
                    assert visit(d, "a", policy, wait=WAIT) == instead
            private_server.start() if way == "kill" else private_server.restart()
            assert visit(d, "a", policy, wait=PATIENT) is None
        assert [used.policy for used in diary.of(PolicyUsed)] == [] if instead is None else [instead] * 2
        assert [over.uses for over in diary.of(PolicyOver)] == ([] if instead is None else [2])

    @in_both_colours
    @pytest.mark.parametrize("on_outage", ["open", "local"])
    def test_one_that_hangs_is_away_too(self, private_server: Server, visit: Visit, on_outage: str) -> None:
        diary = Diary()
        with client(private_server.url, diary, on_outage) as d:
            assert visit(d, "a", policy, wait=PATIENT) is None
            private_server.pause()
            assert visit(d, "a", policy, wait=WAIT) == on_outage
            private_server.resume()
            assert visit(d, "a", policy, wait=PATIENT) is None
        assert len(diary.of(PolicyOver)) == 1

    @in_both_colours
    def test_one_that_was_never_there_is_away_too(self, visit: Visit) -> None:
        port, diary = Port(), Diary()
        with client(f"redis://{HOST}:{port.number}/0", diary, "open") as d:
            assert visit(d, "a", policy, wait=WAIT) == "open"
        port.close()

    @pytest.mark.parametrize("on_outage", ["open", "local"])
    def test_one_who_waits_in_the_queue_meets_the_outage_too(self, private_server: Server, on_outage: str) -> None:
        diary, seen = Diary(), list[str | None]()
        with (
            dibs.connect(private_server.url, quiet=True) as other,
            client(private_server.url, diary, on_outage) as d,
        ):
            theirs = other.lock("a", ttl=1, wait=PATIENT, renew=False).acquire()

            def wait() -> None:
                with d.lock("a") as lease:
                    seen.append(lease.policy)

            waiter = threading.Thread(target=wait)
            waiter.start()
            diary.wait_for(JoinedQueue, 1)
            private_server.kill()
            waiter.join()
            assert theirs.lost
        assert seen == [on_outage]


class TestLostWhileHolding:
    """A policy speaks of taking a lock: what is held is lost as ever, by the holder's own clock."""

    @by_every_policy
    def test_a_lease_from_the_store_is_lost(self, private_server: Server, on_outage: str) -> None:
        diary = Diary()
        with client(private_server.url, diary, on_outage) as d:
            lease = d.lock("a", ttl=1, wait=PATIENT).acquire()
            private_server.kill()
            [lost] = diary.wait_for(Lost, 1)
            assert "ran out" in lost.reason
            assert lease.lost
            assert lease.policy is None
            with pytest.raises(LeaseLost):
                lease.release()
        assert not diary.of(PolicyUsed)

    @by_every_policy
    def test_an_async_body_is_stopped(self, private_server: Server, on_outage: str) -> None:
        async def main() -> None:
            with client(private_server.url, Diary(), on_outage) as d, pytest.raises(LeaseLost, match="ran out"):
                async with d.lock("a", ttl=1, wait=PATIENT):
                    await asyncio.to_thread(private_server.kill)
                    await asyncio.Event().wait()

        asyncio.run(main())

    @pytest.mark.parametrize("on_outage", ["open", "local"])
    def test_what_was_taken_without_the_store_outlives_its_return(self, private_server: Server, on_outage: str) -> None:
        private_server.stop()
        with client(private_server.url, Diary(), on_outage) as d:
            with d.lock("a", wait=WAIT) as lease:
                private_server.restart()
                with d.lock("b", wait=PATIENT) as other:
                    assert other.policy is None
                assert d.inspect("a").state == "free", "so somebody else may have it"
                lease.ensure()
            assert lease.policy == on_outage


def guarded_by_a_password(server: Server) -> str:
    server.ask("CONFIG", "SET", "requirepass", SECRET)
    return server.url


def with_a_wrong_password(server: Server) -> str:
    return server.url_of("app", f"{SECRET}!")


def for_a_weak_user(server: Server) -> str:
    return server.url_of("weak", SECRET)


def of_a_database_that_is_not_there(server: Server) -> str:
    return f"redis://{HOST}:{server.port}/999"


def that_is_a_replica(server: Server) -> str:
    server.ask("REPLICAOF", HOST, "1")
    return server.url


def that_is_a_replica_without_its_server(server: Server) -> str:
    server.ask("CONFIG", "SET", "replica-serve-stale-data", "no")
    return that_is_a_replica(server)


def that_is_full(server: Server) -> str:
    server.ask("CONFIG", "SET", "maxmemory", "1")
    return server.url


def that_has_too_many_clients(server: Server) -> str:
    server.ask("CONFIG", "SET", "maxclients", "1")
    return server.url


REFUSALS = [
    (guarded_by_a_password, "already authenticated"),
    (with_a_wrong_password, "invalid username-password pair"),
    (for_a_weak_user, "NOPERM"),
    (of_a_database_that_is_not_there, "DB index is out of range"),
    (that_is_a_replica, "READONLY"),
    (that_is_a_replica_without_its_server, "MASTERDOWN"),
    (that_is_full, "OOM"),
]


class TestRefused:
    """A server that answers, and says no, is never done without: it is to be mended."""

    @in_both_colours
    @by_every_policy
    @pytest.mark.parametrize(("server_of", "why"), REFUSALS, ids=lambda part: getattr(part, "__name__", ""))
    def test_no_policy_goes_on(
        self,
        start_server: Callable[..., Server],
        visit: Visit,
        on_outage: str,
        server_of: Callable[[Server], str],
        why: str,
    ) -> None:
        diary, url = Diary(), server_of(start_server(users=USERS))
        with client(url, diary, on_outage) as d, pytest.raises(StoreUnreachable, match=why) as no:
            visit(d, "a", policy, wait=WAIT)
        assert not no.value.is_outage
        assert not diary.of(PolicyUsed)

    @by_every_policy
    def test_one_that_takes_no_more_connections_has_answered(self, private_server: Server, on_outage: str) -> None:
        diary, url = Diary(), that_has_too_many_clients(private_server)
        with client(url, diary, on_outage) as d, pytest.raises(StoreUnreachable, match="max number of clients") as no:
            d.lock("a", wait=1).acquire()
        assert not no.value.is_outage
        assert not diary.of(PolicyUsed)


@pytest.mark.parametrize("word", NOT_DONE)
def test_whatever_a_server_answers_is_no_outage(word: str) -> None:
    from hiredis import ReplyError  # noqa: PLC0415 - as the wire has it

    for said in (f"{word} and more", "ERR something else"):
        error = outcome("redis://host", ReplyError(said))
        assert isinstance(error, StoreUnreachable)
        assert not error.is_outage
        assert not error.lasting(2.0).is_outage


@pytest.mark.parametrize("kind", [AuthenticationError, NoPermissionError, BusyLoadingError])
def test_a_greeting_that_is_refused_is_no_outage(kind: type[Exception]) -> None:
    server = endpoint("redis://localhost")
    assert not server.refused(kind("no")).is_outage
    assert server.refused(ConnectionError("nobody is there")).is_outage
    assert server.refused(TimeoutError()).is_outage
