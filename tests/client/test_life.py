"""From connect to close: what is opened, shared, closed, forked and forgotten."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import dibs
from dibs import ClientClosed, ConfigError, Dibs, LeaseLost, LockBusy, StoreUnreachable
from dibs.events import Abandoned, Acquired, ChoseEmbedded, ClosedWhileHolding, Event, JoinedQueue, Lost, Stumbled
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import Diary


def test_connect_opens_nothing(d: Dibs) -> None:
    before = threading.active_count()
    dibs.connect("memory://opens-nothing", quiet=True)
    assert threading.active_count() == before


def test_the_same_url_is_the_same_store() -> None:
    with dibs.connect("memory://same") as one, dibs.connect("memory://same") as two:
        with one.lock("a"), two.try_lock("a") as theirs:
            assert theirs is None
        with dibs.connect("memory://another") as three, one.lock("a"), three.try_lock("a") as lease:
            assert lease is not None


def test_the_store_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIBS_URL", "memory://by-environment")
    assert repr(dibs.connect()) == "<Dibs memory://by-environment namespace='dibs'>"


def test_without_a_name_it_is_this_machines_own_and_a_warning_says_so_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, diary: Diary
) -> None:
    monkeypatch.delenv("DIBS_URL", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    dibs.connect(observers=[diary], quiet=True)
    with dibs.connect(observers=[diary], quiet=True) as d, d.lock("a"):
        assert d.inspect("a").held is not None
    [chosen] = diary.of(ChoseEmbedded)
    assert chosen.server == f"sqlite:///{tmp_path}/dibs/dibs.sqlite"
    assert not d.guarantee.across_machines


@pytest.mark.parametrize("url", [None, "memory://", "sqlite://"])
def test_a_store_of_this_machine_alone_can_be_forbidden(monkeypatch: pytest.MonkeyPatch, url: str | None) -> None:
    monkeypatch.delenv("DIBS_URL", raising=False)
    monkeypatch.setenv("DIBS_REQUIRE_SHARED", "1")
    with pytest.raises(ConfigError, match=r"other machines do not share.*DIBS_URL"):
        dibs.connect(url)
    monkeypatch.setenv("DIBS_REQUIRE_SHARED", "maybe")
    with pytest.raises(ConfigError, match="'maybe': say 1 or 0"):
        dibs.connect(url)


@pytest.mark.parametrize("url", ["", 7])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match=r"name a store|is named by"):
        dibs.connect(url)


@pytest.mark.parametrize("url", ["nonsense", "nope://user:secret@host", "memory:// x", "memory://\n"])
def test_a_wrong_url_is_refused_without_repeating_its_secrets(url: str) -> None:
    with pytest.raises(ConfigError) as refused:
        dibs.connect(url)
    assert "secret" not in str(refused.value)
    assert "memory://" in str(refused.value)


def test_a_url_that_is_no_text_is_refused() -> None:
    with pytest.raises(ConfigError, match="not by int"):
        dibs.connect(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("namespace", ["a:b", "a{b", " a", "\n", "x" * 201])
def test_a_wrong_namespace_is_refused(namespace: str) -> None:
    with pytest.raises(ConfigError, match="namespace"):
        dibs.connect("memory://", namespace=namespace)


def test_bare_names_have_no_namespace() -> None:
    with dibs.connect("memory://bare", namespace="") as d, d.lock("a"):
        assert [view.name for view in d.locks()] == ["a"]


def test_a_client_says_what_its_store_promises(d: Dibs) -> None:
    assert d.guarantee.level == "fenced"
    assert "this one process" in str(d.guarantee)


def test_a_closed_client_says_so(d: Dibs) -> None:
    lock = d.lock("a")
    d.close()
    d.close()
    with pytest.raises(ClientClosed, match=r"closed \(make another"), lock:
        pass
    with pytest.raises(ClientClosed):
        d.inspect("a")

    async def main() -> None:
        with pytest.raises(ClientClosed):
            await d.alocks()

    asyncio.run(main())


def test_closing_ends_leases_that_are_in_use_and_leaves_them_to_their_ttl() -> None:
    backend, diary = MemoryBackend(), Diary()
    d, other = Dibs(backend, observers=[diary]), Dibs(backend)
    lease = d.lock("a", ttl=0.3).acquire()
    d.close()
    assert lease.lost
    with pytest.raises(LeaseLost, match="client was closed"):
        lease.ensure()
    assert [event.names for event in diary.of(ClosedWhileHolding)] == [("a",)]
    assert len(diary.of(Lost)) == 1
    assert other.try_lock("a").acquire() is None  # the work under it may not have stopped yet
    with pytest.raises(LeaseLost):
        lease.release()
    other.lock("a", wait=10).acquire().release()
    other.close()


def test_closing_wakes_those_who_wait_and_takes_back_their_tickets(d: Dibs) -> None:
    backend, diary = MemoryBackend(), Diary()
    holder, waiter = Dibs(backend), Dibs(backend, observers=[diary])
    lease = holder.lock("a").acquire()
    told: list[BaseException] = []

    def wait() -> None:
        try:
            waiter.lock("a").acquire()
        except ClientClosed as closed:
            told.append(closed)

    async def await_it() -> None:
        try:
            await waiter.lock("a").aacquire()
        except ClientClosed as closed:
            told.append(closed)

    threads = [threading.Thread(target=wait), threading.Thread(target=lambda: asyncio.run(await_it()))]
    for thread in threads:
        thread.start()
    diary.wait_for(JoinedQueue, 2)
    waiter.close()
    for thread in threads:
        thread.join(10)
    assert len(told) == 2
    assert holder.inspect("a").waiters == ()
    lease.release()
    holder.close()


def test_closing_does_not_release_what_is_just_being_entered() -> None:
    """Its work may begin in the same moment: like every lease in use it is lost, and left to its TTL."""
    entering, may_go = threading.Event(), threading.Event()

    class Slow:
        def on(self, event: Event, /) -> None:
            if isinstance(event, Acquired):
                entering.set()
                may_go.wait(10)

    backend, diary = MemoryBackend(), Diary()
    holder, client = Dibs(backend), Dibs(backend, observers=[diary, Slow()])
    lease, taken = holder.lock("a").acquire(), list[dibs.Lease]()
    thread = threading.Thread(target=lambda: taken.append(client.lock("a").acquire()))
    thread.start()
    diary.wait_for(JoinedQueue, 1)
    lease.release()
    assert entering.wait(10)
    client.close()
    assert holder.inspect("a").state == "held"
    may_go.set()
    thread.join()
    assert taken[0].lost
    holder.close()


def test_the_keeper_s_thread_ends_when_nothing_is_left_to_look_after(d: Dibs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.runtime.keeper.IDLE", 0.05)
    monkeypatch.setattr("dibs.flows.counting.EVERY", 0.05)
    lease = d.lock("a", ttl=30).acquire()
    keeper = d._engine._keeper._thread
    assert keeper is not None
    lease.release()
    d._engine.desk.nudge()  # or it would sleep until the renewal that is not needed any more
    keeper.join(10)
    assert not keeper.is_alive()
    lease = d.lock("a", ttl=0.2).acquire()  # and another begins
    with pytest.raises(LockBusy):
        d.lock("a", wait=0.5).acquire()
    lease.release()


def test_a_keeper_that_could_not_start_is_tried_again(d: Dibs, diary: Diary, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        unkept = d.lock("a", ttl=0.5).acquire()
    assert "start new thread" in diary.of(Stumbled)[0].error
    kept = d.lock("b", ttl=0.5).acquire()
    with pytest.raises(LockBusy):
        d.lock("a", wait=1).acquire()
    for lease in (unkept, kept):
        lease.release()


def test_a_signal_s_handler_may_use_the_client(d: Dibs) -> None:
    """Even if the signal came while its thread was in the middle of the store."""
    asked: list[object] = []

    def clock() -> float:
        """Read by the store in the middle of an ask: here the signal strikes."""
        if not asked:
            asked.append(None)
            with pytest.raises(StoreUnreachable, match="in the middle"):
                client.lock("a", wait=0.1).acquire()
        return time.time()

    with Dibs(MemoryBackend(clock=clock)) as client, client.lock("a"):
        assert asked


def test_closing_stops_an_async_body() -> None:
    async def main() -> None:
        async with Dibs(MemoryBackend()) as d:
            with pytest.raises(LeaseLost, match="client was closed"):
                async with d.lock("a"):
                    await d.aclose()
                    await asyncio.Event().wait()

    asyncio.run(main())


def test_a_loop_that_is_closed_is_not_listened_for_any_more() -> None:
    backend = MemoryBackend()
    with Dibs(backend) as d:

        async def use() -> None:
            async with d.lock("a"):
                pass

        for _ in range(5):
            asyncio.run(use())
        assert len(backend._lines) <= 2  # the threads' and the last loop's


def test_a_lease_that_is_dropped_is_given_back(d: Dibs, diary: Diary) -> None:
    d.lock("a").acquire()
    gc.collect()
    [event] = diary.wait_for(Abandoned, 1)
    assert event.name == "a"
    d.lock("a", wait=10).acquire().release()


def test_an_observer_that_fails_does_not_hurt_the_lock(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def on(self, event: Event, /) -> None:
            raise ValueError("mine")

    with Dibs(MemoryBackend(), observers=[Broken()]) as d, d.lock("a"):
        pass
    assert "an observer failed" in caplog.text


def test_events_are_logged_unless_quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", logger="dibs")
    with dibs.connect("memory://logged") as d, d.lock("a"):
        pass
    assert [record.message.split()[0] for record in caplog.records] == ["acquired", "released"]
    caplog.clear()
    with dibs.connect("memory://logged", quiet=True) as d, d.lock("a"):
        pass
    assert not caplog.records


FORK = """
import os, dibs
d = dibs.connect("memory://", quiet=True)
lease = d.lock("a", ttl=5).acquire()
lock = d.lock("b")
with lock:
    pid = os.fork()
    if pid == 0:
        try:
            assert lease.lost and "forked" in repr(lease), lease
            try:
                lease.release()
            except dibs.LeaseLost as lost:
                assert "forked" in str(lost)
            else:
                raise AssertionError("a child released its parent's lease")
            with d.lock("of the child", ttl=1) as mine:   # with a keeper of its own
                mine.ensure()
            code = 0
        except BaseException as error:
            print("child:", repr(error), flush=True)
            code = 1
        os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    lease.ensure()
lease.release()
print("well")
"""

EXIT = """
import dibs
from dibs.events import Released
class Tell:
    def on(self, event):
        if isinstance(event, Released):
            print("released", event.name, lease.lost, flush=True)
d = dibs.connect("memory://", observers=[Tell()], quiet=True)
lease = d.lock("kept to the end").acquire()
"""


def python(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr.replace("DeprecationWarning", "").strip() or "fork" in done.stderr, done.stderr
    return done.stdout


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="this platform cannot fork")
def test_a_forked_child_can_neither_use_nor_release_its_parent_s_leases() -> None:
    assert python(FORK) == "well\n"


def test_what_is_still_held_when_the_program_ends_is_given_back() -> None:
    assert python(EXIT) == "released kept to the end True\n"
