"""Functions under a lock: what runs, what waits, and what is skipped."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs import Dibs, LeaseLost, LockBusy, SelfDeadlock, Skipped, StoreUnreachable
from dibs.config import Config
from dibs.events import CallAdmitted, CallSkipped, FoundBusy, JoinedQueue
from dibs.testing.contract import Diary
from dibs.testing.outage import Outage
from tests.client.others import Blocking, Colour, somebody_else


@pytest.fixture
def d(anywhere: Dibs) -> Dibs:
    return anywhere


def test_a_call_has_the_lock_of_its_arguments_and_gives_it_back(d: Dibs, colour: Colour) -> None:
    work = colour.of(d.locked("job:{key}"), lambda key: (d.is_locked(f"job:{key}"), d.is_locked("job:other")))
    assert work("a") == (True, False)
    assert not d.locks()


def test_the_body_s_exception_passes_and_the_lock_is_free(d: Dibs, colour: Colour) -> None:
    def fail(key: str) -> None:
        raise KeyError(key)

    manners: list[Any] = ["raise", "skip"]
    for on_conflict in manners:
        with pytest.raises(KeyError, match="a"):
            colour.of(d.locked("job:{key}", on_conflict=on_conflict), fail)("a")
    assert not d.locks()


def test_a_call_waits_for_its_turn_unless_told_otherwise(d: Dibs, colour: Colour, diary: Diary) -> None:
    work = colour.of(d.locked("job:{key}"), str.upper)
    lease, done = d.lock("job:a").acquire(), list[str]()
    thread = threading.Thread(target=lambda: done.append(work("a")))
    thread.start()
    diary.wait_for(JoinedQueue, 1)
    assert done == []
    lease.release()
    thread.join()
    assert done == ["A"]


@pytest.mark.parametrize("options", [{"wait": 0}, {"wait": 0.05}, {"retries": 2, "retry_delay": 0.01}])
def test_a_bounded_wait_ends_in_lock_busy(d: Dibs, colour: Colour, options: dict[str, Any]) -> None:
    work = colour.of(d.locked("job:{key}", **options), str.upper)
    with somebody_else(d, "job:a", purpose="mine"):
        with pytest.raises(LockBusy, match="for 'mine'"):
            work("a")
        assert work("b") == "B"


def test_a_skipped_call_says_why_and_who(d: Dibs, colour: Colour, diary: Diary) -> None:
    called: list[str] = []
    work = colour.of(d.locked("job:{key}", on_conflict="skip"), called.append)
    with somebody_else(d, "job:a", ttl=30, purpose="mine") as lease:
        skipped = work("a")
        held = d.inspect("job:a").held
    assert isinstance(skipped, Skipped)
    assert held is not None
    assert not skipped
    assert (called, lease.lost) == ([], False)
    assert (skipped.name, skipped.why, skipped.holder, skipped.purpose) == ("job:a", "busy", held.who, "mine")
    assert skipped.since == held.since
    assert skipped.ttl_left is not None
    assert 25 < skipped.ttl_left <= 30
    [told] = diary.of(CallSkipped)
    assert (told.name, told.why, told.holder) == ("job:a", "busy", held.who)
    assert told.function.endswith("of.<locals>.work")


def test_a_skipping_call_that_is_alone_gives_its_value(d: Dibs, colour: Colour, diary: Diary) -> None:
    work = colour.of(d.locked("job:{key}", on_conflict="skip"), str.upper)
    assert work("a") == "A"
    assert [(told.name, told.attempt) for told in diary.of(CallAdmitted)] == [("job:a", 1)]


def test_a_skipping_call_may_wait_a_while(d: Dibs, colour: Colour, diary: Diary) -> None:
    work = colour.of(d.locked("job:{key}", on_conflict="skip", wait=0.05), str.upper)
    with somebody_else(d, "job:a"):
        assert isinstance(work("a"), Skipped)
    assert len(diary.of(JoinedQueue)) == 1


def test_retries_find_the_lock_free_in_the_end(d: Dibs, colour: Colour, diary: Diary) -> None:
    work = colour.of(d.locked("job:{key}", on_conflict="skip", retries=10_000, retry_delay=0.001), str.upper)
    lease, done = d.lock("job:a").acquire(), list[str]()
    thread = threading.Thread(target=lambda: done.append(work("a")))
    thread.start()
    diary.wait_for(FoundBusy, 3)
    lease.release()
    thread.join()
    [told] = diary.of(CallAdmitted)
    assert done == ["A"]
    assert told.attempt == len(diary.of(FoundBusy)) + 1
    assert not diary.of(JoinedQueue)


def test_when_all_retries_were_in_vain_it_is_skipped(d: Dibs, colour: Colour, diary: Diary) -> None:
    work = colour.of(d.locked("job:{key}", on_conflict="skip", retries=3, retry_delay=0.001), str.upper)
    with somebody_else(d, "job:a"):
        assert isinstance(work("a"), Skipped)
    assert (len(diary.of(FoundBusy)), len(diary.of(CallSkipped))) == (4, 1)


def test_a_cancelled_call_stops_retrying_at_once(d: Dibs, diary: Diary) -> None:
    @d.locked("job", on_conflict="skip", retries=5, retry_delay="1h")
    async def work() -> None:
        raise AssertionError("never called")

    async def main() -> None:
        task = asyncio.create_task(work())
        await asyncio.to_thread(diary.wait_for, FoundBusy, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with somebody_else(d, "job"):
        asyncio.run(asyncio.wait_for(main(), 10))
    assert not d.locks()


def test_a_lock_that_is_busy_within_the_body_is_not_taken_for_its_own(d: Dibs, colour: Colour) -> None:
    def body(_: str) -> None:
        d.lock("other", wait=0).acquire()

    work = colour.of(d.locked("job:{key}", on_conflict="skip"), body)
    with somebody_else(d, "other"), pytest.raises(LockBusy, match="other"):
        work("a")


def test_calling_itself_with_the_same_key_is_told_instead_of_hanging(d: Dibs) -> None:
    @d.locked("job:{number}")
    def down(number: int, step: int) -> int:
        return down(number - step, step) + 1 if number else 0

    @d.locked("job:{number}")
    async def adown(number: int, step: int) -> int:
        return await adown(number - step, step) + 1 if number else 0

    assert down(2, 1) == asyncio.run(adown(2, 1)) == 2
    with pytest.raises(SelfDeadlock, match="'job:2' is already held here"):
        down(2, 0)
    with pytest.raises(SelfDeadlock, match="'job:2' is already held here"):
        asyncio.run(adown(2, 0))
    assert not d.locks()


def test_a_call_that_lost_its_lock_is_told(d: Dibs) -> None:
    def evict() -> None:
        [view] = d.locks()
        assert view.held is not None
        d.force_release(view.name, fence=view.held.fence)

    @d.locked("job", on_conflict="skip")
    def work() -> str:
        evict()
        return "too late"

    @d.locked("ajob", on_conflict="skip")
    async def awork() -> str:
        evict()
        await asyncio.Event().wait()
        return "never"

    with pytest.raises(LeaseLost, match="by force"):
        work()
    with pytest.raises(LeaseLost, match="by force"):
        asyncio.run(awork())


def test_all_keywords_of_a_lock_are_taken(d: Dibs, colour: Colour) -> None:
    losses: list[LeaseLost] = []
    options: dict[str, Any] = {
        "ttl": "15s",
        "purpose": "nightly",
        "renew": False,
        "max_hold": "1m",
        "on_lost": losses.append,
    }
    held = colour.of(d.locked("job:{key}", **options), lambda key: d.inspect(f"job:{key}").held)("a")
    assert (held.ttl, held.purpose) == (15, "nightly")
    assert colour.of(d.locked("job:{key}"), lambda key: d.inspect(f"job:{key}").held)("a").ttl == 60


# --- what is told --------------------------------------------------------------------------------------------


def test_the_log_says_what_ran_and_what_was_skipped(caplog: pytest.LogCaptureFixture) -> None:
    with dibs.connect("memory://") as d, caplog.at_level("INFO", "dibs"):
        hourly = d.locked("hourly-task", ttl=300, on_conflict="skip")(lambda: d.inspect("hourly-task").held)
        held = hourly()
        assert held
        with somebody_else(d, "hourly-task"):
            hourly()
    acquired, skipped = caplog.messages
    assert acquired.startswith("Lock acquired: hourly-task (attempt 1)")
    assert skipped.startswith("Skipping execution - lock held by another instance: hourly-task")
    assert held.who in skipped


def test_a_function_that_raises_instead_is_not_told_of(d: Dibs, diary: Diary) -> None:
    Blocking.of(d.locked("job:{key}"), str.upper)("a")
    assert not diary.of(CallAdmitted)


# --- while the store is silent --------------------------------------------------------------------------------


@pytest.fixture
def silent(outage: Outage, diary: Diary) -> Iterator[Callable[..., Dibs]]:
    """Makes clients of a store that does not answer."""
    with ExitStack() as stack:

        def client(**settings: Any) -> Dibs:
            config = Config(**settings)
            return stack.enter_context(Dibs(outage, observers=[diary], config=config))

        outage.trouble = "refused"
        yield client


def test_a_call_that_may_be_skipped_is_skipped_in_an_outage(
    silent: Callable[..., Dibs], colour: Colour, diary: Diary
) -> None:
    d, skips = silent(), dict[str, Any](on_conflict="skip", wait=0.05)
    skipped = colour.of(d.locked("job:{key}", on_outage="skip", **skips), str.upper)("a")
    assert (type(skipped), skipped.why, skipped.holder) == (Skipped, "outage", None)
    assert [(told.name, told.why) for told in diary.of(CallSkipped)] == [("job:a", "outage")]
    by_config = silent(on_outage="skip")
    assert colour.of(by_config.locked("job:{key}", **skips), str.upper)("a").why == "outage"
    assert by_config.execute_with_lock("a", list, wait=0.05) == Skipped("a", "outage")


def test_a_call_is_not_skipped_in_an_outage_unless_it_was_said(silent: Callable[..., Dibs], colour: Colour) -> None:
    cases: list[tuple[Dibs, Any]] = [(silent(), "skip"), (silent(on_outage="skip"), "raise")]
    for client, on_conflict in cases:
        with pytest.raises(StoreUnreachable):
            colour.of(client.locked("job:{key}", on_conflict=on_conflict, wait=0.05), str.upper)("a")


def test_a_call_may_run_without_a_lock_in_an_outage(silent: Callable[..., Dibs], colour: Colour) -> None:
    d = silent()
    assert colour.of(d.locked("job:{key}", on_outage="open", wait=0.05), str.upper)("a") == "A"


# --- several processes ---------------------------------------------------------------------------------------

WORKER = """
import sys, dibs
d = dibs.connect(sys.argv[1], quiet=True)

@d.locked("nightly:{shop}", on_conflict="skip")
def nightly(shop):
    print("in", flush=True)
    sys.stdin.readline()
    return shop.upper()

print(repr(nightly("berlin")), flush=True)
"""


def worker(url: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_of_two_processes_one_works_and_the_other_says_who_does(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/dibs.sqlite"
    with worker(url) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "in\n"
        with worker(url) as second:
            said, _ = second.communicate(timeout=30)
        assert said.startswith("<Skipped 'nightly:berlin': held by ")
        assert f":{first.pid}, since " in said
        said, _ = first.communicate("\n", timeout=30)
        assert said == "'BERLIN'\n"
    with worker(url) as third:
        assert third.communicate("\n", timeout=30)[0] == "in\n'BERLIN'\n"
