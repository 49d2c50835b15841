"""Who held what at a moment is told by every client of the store, from what was noted and what is held."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import dibs
from dibs import ClientClosed, ConfigError, Dibs, HoldView, LeaseLost, StoreUnreachable
from dibs.config import Config
from dibs.flows import recording
from dibs.questions.pages import MOST
from dibs.stores.memory import MemoryBackend
from dibs.testing.outage import Outage
from tests.chaos.children import ended_well, in_a_fork
from tests.client.visits import Visit, in_both_colours, policy
from tests.servers.fixtures import there
from tests.servers.kinds import VALKEY_9, Kind

At: TypeAlias = Callable[..., Sequence[HoldView]]

HASTY = Config(patience=0.2)
A_MOMENT = timedelta(milliseconds=1)
CLOSE = timedelta(milliseconds=250)
"""How well a busy machine can tell the time of another clock."""


@pytest.fixture
def server_kind() -> Kind:
    """One is enough."""
    return there(VALKEY_9)


def at_by_task(d: Dibs, moment: Any, name: str | None = None) -> Sequence[HoldView]:
    return asyncio.run(d.aheld_at(moment, name))


def history_by_task(d: Dibs, name: str, **options: Any) -> Sequence[HoldView]:
    return asyncio.run(d.alock_history(name, **options))


at_in_both_colours = pytest.mark.parametrize("at", [Dibs.held_at, at_by_task], ids=["blocking", "asyncio"])
history_in_both_colours = pytest.mark.parametrize(
    "history", [Dibs.lock_history, history_by_task], ids=["blocking", "asyncio"]
)


@in_both_colours
def test_a_hold_that_is_over_is_told_with_all_that_is_known(ann: Dibs, bob: Dibs, visit: Visit) -> None:
    fences: list[int] = []
    before = datetime.now(UTC)
    visit(ann, "billing", lambda lease: fences.append(lease.fence), purpose="the nightly run")
    after = datetime.now(UTC)
    [seen] = ann.lock_history("billing")
    assert [seen] == bob.lock_history("billing")
    assert (seen.name, seen.who, seen.purpose) == ("billing", f"{os.uname().nodename}:{os.getpid()}", "the nightly run")
    assert (seen.fence, seen.ended, seen.times, seen.reason) == (fences[0], "released", 1, "")
    assert seen.until is not None
    assert before - CLOSE <= seen.since <= seen.until == seen.seen_at <= after + CLOSE


@at_in_both_colours
def test_a_moment_is_told_by_who_held_it_then(ann: Dibs, bob: Dibs, at: At) -> None:
    with ann.lock("other"), ann.lock("billing"):
        pass
    [seen] = at(ann, ann.lock_history("billing")[0].since, "billing")
    assert (seen.name, seen.ended) == ("billing", "released")
    assert [each.name for each in at(bob, seen.since)] == ["billing", "other"]
    assert at(bob, seen.since - timedelta(hours=1)) == []
    assert at(bob, seen.seen_at + A_MOMENT, "billing") == []


@at_in_both_colours
def test_what_is_held_is_told_by_everybody(ann: Dibs, bob: Dibs, at: At) -> None:
    with ann.lock("billing") as lease:
        [seen] = at(bob, datetime.now(UTC), "billing")
        assert [seen.fence, seen.ended, seen.until] == [lease.fence, "held", None]
        assert [each.name for each in at(bob, datetime.now(UTC))] == ["billing"]
    [seen] = at(ann, seen.seen_at)
    assert (seen.fence, seen.ended) == (lease.fence, "released")


@history_in_both_colours
def test_the_history_of_a_lock_is_the_latest_first_and_of_a_span(
    ann: Dibs, history: Callable[..., Sequence[HoldView]]
) -> None:
    for _ in range(5):
        ann.lock("billing").acquire().release()
    seen = history(ann, "billing")
    assert [each.fence for each in seen] == sorted((each.fence or 0 for each in seen), reverse=True)
    assert len(seen) == 5
    assert history(ann, "billing", limit=2) == seen[:2]
    assert history(ann, "billing", until=seen[2].since) == seen[2:]
    assert history(ann, "billing", since=seen[0].seen_at + timedelta(seconds=1)) == []
    assert history(ann, "other") == []


def test_one_that_is_taken_by_force_is_told_as_broken(ann: Dibs, bob: Dibs) -> None:
    is_told = threading.Event()
    lease = ann.lock("billing", on_lost=lambda _: is_told.set()).acquire()
    bob.force_release("billing", fence=lease.fence)
    assert is_told.wait(10)
    with pytest.raises(LeaseLost):
        lease.release()
    ann.lock_history("billing")
    assert [each.ended for each in bob.lock_history("billing")] == ["broken"]


def test_of_a_hot_lock_some_are_told_each_and_the_others_by_their_number(ann: Dibs) -> None:
    for _ in range(200):
        ann.lock("hot").acquire().release()
    seen = ann.lock_history("hot")
    assert sum(each.times for each in seen) == 200
    assert len(seen) <= 2 * (recording.FIRST + 1)
    many = next(each for each in seen if each.times > 1)
    assert many.fence is None
    assert many in ann.held_at(many.since + (many.seen_at - many.since) / 2)


def test_threads_that_hold_and_ask_at_once_miss_nothing(ann: Dibs) -> None:
    start = threading.Barrier(5)

    def hold(name: str) -> None:
        start.wait()
        for _ in range(100):
            ann.lock(name).acquire().release()

    def ask() -> None:
        start.wait()
        for _ in range(10):
            ann.lock_history("a")

    threads = [threading.Thread(target=hold, args=(name,)) for name in "abc"]
    threads += [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in "abc":
        assert sum(each.times for each in ann.lock_history(name, limit=1_000)) == 100


def test_all_who_share_a_lock_are_told(ann: Dibs, bob: Dibs) -> None:
    with ann.semaphore("gpu", 2) as mine, bob.semaphore("gpu", 2) as theirs:
        seen = ann.held_at(datetime.now(UTC), "gpu")
        assert [each.fence for each in seen] == [mine.fence, theirs.fence]


def test_each_namespace_has_its_own(ann: Dibs, url: str) -> None:
    ann.lock("billing").acquire().release()
    [seen] = ann.lock_history("billing")
    with dibs.connect(url, namespace="other", quiet=True) as other:
        assert other.lock_history("billing") == other.held_at(seen.since) == []


def test_one_who_closes_tells_it_before(ann: Dibs, url: str) -> None:
    with dibs.connect(url, quiet=True) as d:
        lease = d.lock("billing").acquire()
    [seen] = ann.lock_history("billing")
    assert (seen.fence, seen.ended, seen.reason) == (lease.fence, "lost", "its client was closed")


def test_the_keeper_tells_it_by_itself(url: str, ann: Dibs, monkeypatch: pytest.MonkeyPatch) -> None:
    is_noted = threading.Event()

    def noted(_: object) -> None:
        is_noted.set()

    monkeypatch.setattr(recording, "EVERY", 0.05)
    monkeypatch.setattr(recording, "_noted", noted)
    with dibs.connect(url, quiet=True) as d:
        lease = d.lock("billing").acquire()
        assert is_noted.wait(10), "while it lasts"
        is_noted.clear()
        lease.release()
        assert is_noted.wait(10), "and when it is over"
        assert [(each.fence, each.ended) for each in ann.lock_history("billing")] == [(lease.fence, "released")]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_does_not_tell_what_its_parent_held(tmp_path: Path) -> None:
    with dibs.connect(f"sqlite:///{tmp_path}/dibs.sqlite", quiet=True) as d:
        d.lock("billing").acquire().release()

        def child() -> None:
            assert d.lock_history("billing") == []

        assert ended_well(in_a_fork(child))
        assert len(d.lock_history("billing")) == 1


class TestWhatIsNotTold:
    @in_both_colours
    def test_what_was_done_without_a_lock_was_not_held(self, visit: Visit) -> None:
        outage = Outage(MemoryBackend())
        with Dibs(outage, config=HASTY) as d:
            outage.trouble = "refused"
            assert visit(d, "billing", policy, on_outage="open") == "open"
            outage.trouble = "none"
            assert d.lock_history("billing") == []

    def test_a_client_that_does_not_lock_holds_nothing(self) -> None:
        with Dibs(MemoryBackend(), config=Config(enabled=False)) as d:
            d.lock("billing").acquire().release()
            assert d.lock_history("billing") == []

    def test_in_the_shadow_only_what_the_store_granted_was_held(self) -> None:
        store = MemoryBackend()
        with Dibs(store) as true, Dibs(store, config=Config(mode="shadow")) as d:
            with true.lock("billing"):
                d.lock("billing").acquire().release()
            d.lock("free").acquire().release()
            assert [len(d.lock_history(name)) for name in ("billing", "free")] == [0, 1]

    def test_a_silent_store_is_told(self) -> None:
        outage = Outage(MemoryBackend())
        with Dibs(outage, config=HASTY) as d:
            outage.trouble = "asks lost"
            with pytest.raises(StoreUnreachable):
                d.held_at(0.0)
            outage.trouble = "none"

    def test_a_closed_client_tells_nothing(self) -> None:
        d = Dibs(MemoryBackend())
        d.close()
        with pytest.raises(ClientClosed, match="look at what is known"):
            d.held_at(0.0)


class TestMoments:
    @pytest.fixture
    def d(self) -> Iterator[Dibs]:
        with Dibs(MemoryBackend()) as client:
            yield client

    def test_a_moment_may_be_named_in_several_ways(self, d: Dibs) -> None:
        d.lock("billing").acquire().release()
        [seen] = d.lock_history("billing")
        berlin = seen.since.astimezone(timezone(timedelta(hours=1)))
        for moment in (seen.since, berlin, berlin.isoformat(), seen.since.isoformat().replace("+00:00", "Z")):
            assert d.held_at(moment) == [seen]
        assert d.held_at(seen.since.timestamp()) == d.held_at(seen.since.timestamp(), "billing")

    @pytest.mark.parametrize(
        ("moment", "words"),
        [
            (datetime(2026, 3, 1, 2, 13), "say in which time zone"),  # noqa: DTZ001 - that is the point
            ("2026-03-01T02:13:00", "say in which time zone"),
            ("yesterday", "2026-03-01T02:13:00"),
            (-1.0, "epoch seconds"),
            (1e12, "epoch seconds"),
            (float("nan"), "epoch seconds"),
            (True, "epoch seconds"),
            (None, "epoch seconds"),
        ],
    )
    def test_one_that_is_not_clear_is_refused(self, d: Dibs, moment: Any, words: str) -> None:
        with pytest.raises(ConfigError, match=words) as refusal:
            d.held_at(moment)
        assert f"moment={moment!r}" in str(refusal.value)

    def test_a_span_ends_after_it_begins(self, d: Dibs) -> None:
        with pytest.raises(ConfigError, match="name the earlier one first"):
            d.lock_history("billing", since=2.0, until=1.0)
        with pytest.raises(ConfigError, match="since='soon'"):
            d.lock_history("billing", since="soon")

    @pytest.mark.parametrize("limit", [0, -1, MOST + 1, True, 1.5])
    def test_a_limit_is_a_number_of_holds(self, d: Dibs, limit: Any) -> None:
        with pytest.raises(ConfigError, match=f"limit={limit!r}"):
            d.lock_history("billing", limit=limit)

    def test_a_name_is_checked(self, d: Dibs) -> None:
        with pytest.raises(ConfigError):
            d.held_at(1.0, "")
        with pytest.raises(ConfigError):
            d.lock_history("")


class TestWords:
    SEEN = HoldView(
        name="billing",
        who="web-3:812",
        purpose="",
        fence=7,
        since=datetime(2026, 3, 1, 2, 10, 5, tzinfo=UTC),
        until=None,
        seen_at=datetime(2026, 3, 1, 2, 12, 30, tzinfo=UTC),
        ended="held",
        reason="it was released by force",
        times=1,
    )
    LAST_SEEN = "from 2026-03-01 02:10:05 UTC, was last seen holding it at 2026-03-01 02:12:30 UTC"
    SPAN = "from 2026-03-01 02:10:05 UTC to 2026-03-01 02:12:30 UTC (2m25s)"

    @pytest.mark.parametrize(
        ("ended", "words"),
        [
            ("held", "has held it since 2026-03-01 02:10:05 UTC (2m25s)"),
            ("released", f"held it {SPAN} and released it"),
            ("handed on", f"held it {SPAN} and handed it on"),
            ("broken", f"held it {SPAN} and had it taken away by force"),
            ("lost", f"held it {SPAN} and lost it: it was released by force"),
            (
                "unknown",
                f"held it {LAST_SEEN}, and was not heard of again",
            ),
        ],
    )
    def test_it_says_who_held_what_and_how_it_ended(self, ended: Any, words: str) -> None:
        assert str(replace(self.SEEN, ended=ended)) == f"billing: web-3:812 {words}"

    def test_it_says_how_often(self) -> None:
        assert str(replace(self.SEEN, ended="released", times=37_421)) == (
            "billing: web-3:812 held it 37421 times between 2026-03-01 02:10:05 UTC and 2026-03-01 02:12:30 UTC"
        )
