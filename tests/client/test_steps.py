"""Steps as programs hand them to a fleet: in both colours, on every kind of store."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
import redis

import dibs
from dibs import ActRefused, ConfigError, Dibs, Run, Skipped, StepView
from dibs.config import Config
from dibs.events import CallAdmitted, CallSkipped, RunEnded
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import Diary
from tests.chaos.fleet import until as wait_until
from tests.client.nodes import LONG
from tests.client.people import Says, blocking, in_a_loop
from tests.servers.fixtures import there
from tests.servers.kinds import VALKEY_9, Kind
from tests.servers.server import Server

in_both_colours = pytest.mark.parametrize("say", [blocking, in_a_loop], ids=["blocking", "asyncio"])


@pytest.fixture
def server_kind() -> Kind:
    """One is enough."""
    return there(VALKEY_9)


class Shop:
    """Charges orders: the first time each fails, if it is to."""

    def __init__(self, d: Dibs) -> None:
        self.d = d
        self.charged: list[tuple[str | None, int, int]] = []
        """Which step it was, at which attempt, with which fence."""
        self.go_on = threading.Event()
        terms: Any = {"retries": 2, "retry_delay": 0.01, "max_attempts": 3, "ttl": 5}
        self.charge = d.job(name="charge", **terms)(self._charge)
        self.hang = d.job(name="hang", **terms, timeout=0.1)(self._hang)

    def _charge(self, run: Run, *, order: int, fails: int = 0) -> str:
        self.charged.append((run.step, run.attempt, run.fence))
        if run.attempt <= fails:
            raise ValueError(f"not at attempt {run.attempt}")
        return f"receipt {order}"

    def _hang(self) -> None:
        self.go_on.wait(LONG)

    def done(self, step: str) -> StepView:
        """How it stands, once it is over."""
        wait_until(lambda: (view := self.charge.step(step)) is not None and view.is_over)
        found = self.charge.step(step)
        assert found is not None
        return found


@contextmanager
def serving(d: Dibs) -> Iterator[Shop]:
    shop = Shop(d)
    thread = threading.Thread(target=d.serve, kwargs={"grace": 0.1})
    thread.start()
    try:
        yield shop
    finally:
        shop.go_on.set()
        while thread.is_alive():
            d.stop_serving()
            thread.join(0.1)


@in_both_colours
def test_a_step_is_done_once_and_tells_what_came_of_it(ann: Dibs, bob: Dibs, say: Says) -> None:
    asking = Shop(bob)
    before = say(asking.charge, "submit", "order-17", {"order": 17, "fails": 1}, by="shop", reason="checkout")
    assert (before.job, before.id, before.state, before.attempt, before.node) == ("charge", "order-17", "due", 1, "")
    assert (before.fence, before.started_at, before.ended_at, before.error) == (None, None, None, None)
    assert (before.is_over, before.is_exhausted, before.next_at) == (False, False, before.submitted_at)
    with serving(ann) as shop:
        view = shop.done("order-17")
    assert [(step, attempt) for step, attempt, _ in shop.charged] == [("order-17", 1), ("order-17", 2)]
    assert (view.state, view.attempt, view.result, view.error) == ("ok", 2, "receipt 17", None)
    assert (view.arguments, view.is_over, view.is_exhausted) == ({"order": 17, "fails": 1}, True, False)
    assert view.fence == shop.charged[1][2] > shop.charged[0][2]
    assert view.started_at is not None
    assert view.ended_at is not None
    assert view.submitted_at <= view.started_at <= view.ended_at
    assert say(asking.charge, "submit", "order-17", {"order": 17, "fails": 1}) == view, "it is there"
    assert (say(asking.charge, "step", "order-17"), say(asking.charge, "step", "order-18")) == (view, None)
    runs = bob.runs("charge")
    assert [(each.job, each.step, each.source, each.outcome, each.attempt) for each in runs] == [
        ("charge", "order-17", "step", "ok", 2),
        ("charge", "order-17", "step", "failed", 1),
    ]
    assert list(say(asking.charge, "history")) == list(runs)
    [act] = [act for act in bob.acts("charge") if act.act == "submitted"]
    assert (act.job, act.by, act.reason) == ("charge", "shop", "checkout")
    assert [each.name for each in bob.schedules.list()] == ["charge", "hang"]


@in_both_colours
def test_one_that_fails_each_time_is_exhausted_and_says_why(ann: Dibs, say: Says) -> None:
    with serving(ann) as shop:
        say(shop.charge, "submit", "never", {"order": 1, "fails": 9})
        view = shop.done("never")
    assert (view.state, view.attempt, view.is_exhausted, view.result) == ("failed", 3, True, None)
    assert (view.error or "").startswith("ValueError: not at attempt 3")


@in_both_colours
def test_other_work_under_the_same_id_is_refused(d: Dibs, say: Says) -> None:
    shop = Shop(d)
    say(shop.charge, "submit", "order-17", {"order": 17})
    with pytest.raises(ActRefused, match=r"cannot submit step 'order-17' of 'charge': .* other arguments"):
        say(shop.charge, "submit", "order-17", {"order": 18})


@in_both_colours
def test_they_are_listed_by_id(d: Dibs, say: Says) -> None:
    shop = Shop(d)
    for number in (3, 1, 2):
        say(shop.charge, "submit", f"order-{number}", {"order": number})
    assert [view.id for view in say(shop.charge, "steps")] == ["order-1", "order-2", "order-3"]
    assert [view.id for view in say(shop.charge, "steps", 1, after="order-1")] == ["order-2"]
    assert say(shop.hang, "steps") == []


@pytest.mark.parametrize(
    ("step", "arguments", "words"),
    [
        ("", {"order": 1}, "'' names no step: a step's id needs at least one character"),
        (7, {"order": 1}, "7 names no step: a step's id is text, not int"),
        ("a", {}, "arguments={} do not fit"),
        ("a", {"order": 1, "colour": "red"}, "do not fit"),
        ("a", {"order": object()}, "only what JSON can say is kept in a store"),
    ],
)
def test_what_cannot_be_submitted_is_told_at_once(d: Dibs, step: Any, arguments: Any, words: str) -> None:
    shop = Shop(d)
    with pytest.raises(ConfigError, match=words):
        shop.charge.submit(step, arguments)
    assert shop.charge.steps() == []


@pytest.mark.parametrize("limit", [0, 10_001, True, "all"])
def test_how_many_are_listed_is_a_number(d: Dibs, limit: Any) -> None:
    with pytest.raises(ConfigError, match=r"limit=.*: say how many, from 1 to 10000"):
        Shop(d).charge.steps(limit)


def test_a_body_that_hangs_loses_its_step_and_the_next_attempt_its_time(diary: Diary) -> None:
    with Dibs(MemoryBackend(), observers=[diary]) as d, serving(d) as shop:
        shop.hang.submit("one")
        wait_until(lambda: any(told.function for told in diary.of(CallAdmitted)))
        [ended, *_] = diary.wait_for(RunEnded, 1)
        assert (ended.outcome, ended.reason) == ("timeout", "it took longer than 100ms, and its node did not stop it")
        assert {told.name for told in diary.of(CallAdmitted)} >= {"timeout-scheduler"}
        view = shop.hang.step("one")
        assert view is not None
        assert view.error == "it took longer than 100ms, and its node did not stop it"


def test_the_lock_of_a_scheduler_shows_its_owner_and_count(server: Server) -> None:
    seen = []
    with dibs.connect(server.url, namespace="workflow", quiet=True) as d, redis.Redis.from_url(server.url) as eyes:

        def look() -> int:
            seen.append(eyes.hgetall("workflow:retry-scheduler"))
            return 1

        def enter_again() -> int | Skipped:
            look()
            return d.execute_with_lock("retry-scheduler", look, reentrant=True)

        assert d.execute_with_lock("retry-scheduler", enter_again, reentrant=True) == 1
    [(owner, once)], [(same, twice)] = seen[0].items(), seen[1].items()
    assert (owner == same, once, twice) == (True, b"1", b"2")


def test_while_somebody_has_the_lock_of_a_scheduler_its_chores_wait(diary: Diary) -> None:
    backend = MemoryBackend()
    with Dibs(backend) as other, Dibs(backend, observers=[diary], config=Config(workflow_wait=3600.0)) as d:
        held = other.lock("retry-scheduler", purpose="a look").acquire()
        with serving(d) as shop:
            shop.charge.submit("one", {"order": 1, "fails": 1})
            skipped = diary.wait_for(CallSkipped, 2)[0]
            assert (skipped.name, skipped.why) == ("retry-scheduler", "busy")
            view = shop.charge.step("one")
            assert view is not None
            assert (view.state, view.attempt, len(shop.charged)) == ("due", 2, 1)
            held.release()
            assert shop.done("one").state == "ok"


class TestReentrant:
    def test_the_same_thread_or_task_executes_inside_of_itself(self, anywhere: Dibs) -> None:
        def inner() -> str:
            return "done"

        def outer() -> str | Skipped:
            return anywhere.execute_with_lock("a", inner, reentrant=True)

        async def ainner() -> str:
            return "done"

        async def aouter() -> str | Skipped:
            return await anywhere.aexecute_with_lock("a", ainner, reentrant=True)

        assert anywhere.execute_with_lock("a", outer, reentrant=True) == "done"
        assert asyncio.run(anywhere.aexecute_with_lock("a", aouter, reentrant=True)) == "done"
        assert not anywhere.locks()

    def test_another_is_skipped(self, anywhere: Dibs) -> None:
        results: list[object] = []

        def other() -> None:
            results.append(anywhere.execute_with_lock("a", lambda: 1, reentrant=True))

        def outer() -> None:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join(LONG)

        anywhere.execute_with_lock("a", outer, reentrant=True)
        [skipped] = results
        assert isinstance(skipped, Skipped)

    @pytest.mark.parametrize("reentrant", [None, 1, "yes"])
    def test_it_is_or_it_is_not(self, d: Dibs, reentrant: Any) -> None:
        with pytest.raises(ConfigError, match=r"reentrant=.*: say True or False"):
            d.execute_with_lock("a", lambda: 1, reentrant=reentrant)


@pytest.mark.parametrize("enabled", [True, False])
def test_the_configuration_of_workflows_holds_for_the_schedulers(diary: Diary, enabled: bool) -> None:
    config = Config(workflow_enabled=enabled, workflow_wait=timedelta(hours=1).total_seconds())
    with Dibs(MemoryBackend(), observers=[diary], config=config) as d, serving(d) as shop:
        shop.charge.submit("one", {"order": 1, "fails": 1})
        assert shop.done("one").state == "ok"
    assert {told.name for told in diary.of(CallAdmitted)} == ({"retry-scheduler"} if enabled else set())
