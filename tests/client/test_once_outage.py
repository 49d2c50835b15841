"""Work that is remembered, where the store is silent, or is not to be asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dibs import Dibs, Shadowed, Skipped, StoreUnreachable
from dibs.config import Config
from dibs.events import CallSkipped, PolicyUsed, WouldHaveFailed, WouldHaveSkipped
from dibs.runtime.clock import boottime
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import Diary
from dibs.testing.outage import Outage, Trouble
from tests.client.others import Blocking, Colour

LONG = "366d"
WAIT = 0.05


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine's own store, of which each test has one."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_a_silent_store_is_told_within_the_wait_and_nothing_is_done(d: Dibs, outage: Outage, colour: Colour) -> None:
    calls: list[str] = []
    troubles: list[Trouble] = ["refused", "asks lost", "says no"]
    for outage.trouble in troubles:
        for decorate in (d.once("job:{key}", per=LONG, wait=WAIT), d.shared("job:{key}", wait=WAIT)):
            began_at = boottime()
            with pytest.raises(StoreUnreachable):
                colour.of(decorate, calls.append)("a")
            assert boottime() - began_at < WAIT + 0.25
    assert calls == []


@pytest.mark.parametrize("trouble", ["refused", "asks lost", "says no"])
def test_work_that_may_be_skipped_is_skipped(
    d: Dibs, outage: Outage, colour: Colour, diary: Diary, trouble: Trouble
) -> None:
    outage.trouble = trouble
    work = colour.of(d.once("job:{key}", per=LONG, wait=WAIT, on_outage="skip"), str.upper)
    assert work("a") == Skipped("job:a", "outage")
    assert [told.why for told in diary.of(CallSkipped)] == ["outage"]
    assert [told.policy for told in diary.of(PolicyUsed)] == ["skip"]


@pytest.mark.parametrize("decorator", ["once", "shared"])
def test_work_may_be_done_without_a_lock_and_is_not_remembered(
    d: Dibs, outage: Outage, colour: Colour, diary: Diary, decorator: str
) -> None:
    options: dict[str, Any] = {"per": LONG} if decorator == "once" else {}
    work = colour.of(getattr(d, decorator)("job:{key}", wait=WAIT, on_outage="open", **options), str.upper)
    outage.trouble = "asks lost"
    began_at = boottime()
    assert [work("a"), work("a"), work("a")] == ["A"] * 3
    assert boottime() - began_at < 2 * WAIT + 0.5, "one finds out for all"
    assert [told.policy for told in diary.of(PolicyUsed)] == ["open"] * 3
    outage.trouble = "says no"
    d._engine.detours.outage.trouble = None
    with pytest.raises(StoreUnreachable):
        work("a")


def test_work_may_be_done_once_on_this_machine(d: Dibs, outage: Outage, colour: Colour) -> None:
    calls: list[str] = []
    work = colour.of(d.once("job:{key}", per=LONG, wait=WAIT, on_outage="local"), calls.append)
    outage.trouble = "refused"
    assert work("a") is None
    assert work("a").why == "done"
    assert calls == ["a"]
    outage.trouble = "none"
    d._engine.detours.outage.trouble = None
    assert work("a") is None, "the true store knows nothing of it"
    assert work("a").why == "done"
    assert Blocking.of(d.shared("job:{key}", on_outage="local"), str.upper)("a") == "A"


def test_a_store_that_falls_silent_while_we_work_is_told(d: Dibs, outage: Outage, colour: Colour) -> None:
    def body(key: str) -> str:
        outage.trouble = "refused"
        return key.upper()

    with pytest.raises(StoreUnreachable):
        colour.of(d.once("job:{key}", per=LONG), body)("a")
    outage.trouble = "none"
    work = colour.of(d.once("job:{key}", per=LONG, wait=20), str.upper)
    assert work("a").why == "done", "it was, and that is owed until the store has heard of it"


def test_where_locking_is_off_everything_runs(outage: Outage, colour: Colour) -> None:
    outage.trouble = "refused"
    with Dibs(outage, config=Config(enabled=False)) as d:
        work = colour.of(d.once("job:{key}", per=LONG, remember=True), str.upper)
        assert [work("a"), work("a")] == ["A", "A"]
        assert colour.of(d.shared("job:{key}"), str.upper)("a") == "A"
    assert outage.asks == 0


# --- in shadow mode ------------------------------------------------------------------------------------------------


@pytest.fixture
def store() -> MemoryBackend:
    return MemoryBackend()


@pytest.fixture
def shadow(store: MemoryBackend, diary: Diary) -> Iterator[Dibs]:
    with Dibs(store, config=Config(mode="shadow"), observers=[diary]) as client:
        yield client


def test_a_watcher_runs_what_is_done_and_tells_so(
    shadow: Dibs, store: MemoryBackend, colour: Colour, diary: Diary
) -> None:
    with Dibs(store) as other:
        assert Blocking.of(other.once("job:{key}", per=LONG), str.upper)("a") == "A"
    work = colour.of(shadow.once("job:{key}", per=LONG, remember=True), str.lower)
    assert work("a") == "a"
    assert [told.name for told in diary.of(WouldHaveSkipped)] == ["job:a"]
    assert shadow.shadow_report() == [Shadowed("job:a", runs=1, waited=0, skipped=1, failed=0)]


def test_watchers_see_what_one_another_have_done(shadow: Dibs, store: MemoryBackend, colour: Colour) -> None:
    assert colour.of(shadow.once("job:{key}", per=LONG), str.upper)("a") == "A"
    with Dibs(store) as other:
        assert Blocking.of(other.once("job:{key}", per=LONG, wait=20), str.upper)("a").why == "done"


def test_a_watcher_of_a_silent_store_is_not_held_up(store: MemoryBackend, colour: Colour, diary: Diary) -> None:
    outage = Outage(store)
    outage.trouble = "asks lost"
    with Dibs(outage, config=Config(mode="shadow"), observers=[diary]) as shadow:
        work, began_at = colour.of(shadow.once("job:{key}", per=LONG), str.upper), boottime()
        assert work("a") == "A"
        assert boottime() - began_at < 0.25
        assert len(diary.of(WouldHaveFailed)) == 1
        assert shadow.shadow_report() == [Shadowed("job:a", runs=1, waited=0, skipped=0, failed=1)]
        outage.trouble = "none"
