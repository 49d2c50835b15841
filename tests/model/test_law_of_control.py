"""What holds whatever people do to a job, and in whatever order."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.model.control import (
    Refused,
    cancelled,
    filled_in,
    given_up,
    paused,
    resumed,
    ticks_between,
    triggered,
    without_next,
)
from dibs.model.job import Job, Terms
from dibs.model.record import Record
from dibs.model.reminders import raised
from dibs.model.rota import Ending, Step, handed_back, kept, settled
from tests.model.schedules import NOW, at, job, word

RULES = st.sampled_from(["every 60s", "every 45s jitter=30s", "cron */2 * * * * UTC", "cron 7 3 1 * * Europe/Berlin"])
TERMS = st.builds(
    Terms,
    overlap=st.sampled_from(["skip", "queue", "cancel", "allow"]),
    catch_up=st.sampled_from(["latest", "all", "none"]),
    retries=st.integers(0, 2),
    max_attempts=st.integers(1, 3),
)
ORDERS = st.lists(
    st.tuples(
        st.sampled_from(["look", "end", "pause", "pause until", "resume", "trigger", "leave out", "cancel"]),
        st.floats(0.0, 200.0, allow_subnormal=False),
    ),
    max_size=40,
)


@dataclass
class Scene:
    """A job, what was dealt with of its ticks, and when it was paused."""

    job: Job
    now: float = NOW
    dealt: list[float] = field(default_factory=list[float])
    caught_up: list[float] = field(default_factory=list[float])
    """Those that came in a pause, and were dealt with since."""
    pauses: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])

    def take(self, step: Step) -> None:
        """The step is taken: whatever is new in it is of a tick that it deals with, or was asked for."""
        known = {(run.tick, run.has_tick) for run in self.job.runs}
        new = {(run.tick, run.has_tick) for run in step.job.runs} - known
        fresh = [each for each in step.records if (each.tick, each.source != "trigger") not in known]
        dealt = [tick for tick, has_tick in new if has_tick]
        dealt += [each.tick for each in fresh if (each.tick, True) not in new]
        self.dealt += dealt
        self.caught_up += [tick for tick in dealt for since, until in self.pauses if since < tick < until]
        self.job = step.job

    def do(self, order: str, after: float) -> None:
        self.now += after
        match order:
            case "look":
                self.take(at(self.job, self.now, owner=f"me at {self.now!r}"))
            case "end":
                for run in self.job.running:
                    step = settled(self.job, run.owner, Ending("ok"), now=self.now)
                    assert step is not None
                    self.take(step)
            case "pause":
                self.pause(None)
            case "pause until":
                self.pause(self.now + 3 * after + 1)
            case "resume":
                self.take(resumed(self.job, word(self.now)))
                self.end_pause()
            case "trigger":
                self.take(triggered(self.job, word(self.now)))
            case "leave out":
                self.take(without_next(self.job, word(self.now)))
            case _:
                self.take(cancelled(self.job, word(self.now)))

    def pause(self, until: float | None) -> None:
        self.take(paused(self.job, word(self.now), until=until))
        self.end_pause()
        self.pauses.append((self.now, float("inf") if until is None else until))

    def end_pause(self) -> None:
        if self.pauses:
            since, until = self.pauses[-1]
            self.pauses[-1] = since, min(until, self.now)


def played(rule: str, terms: Terms, orders: list[tuple[str, float]]) -> Scene:
    start = job(rule=rule, terms=terms)
    scene = Scene(Job("report", 7, 1, rule, terms, start.calendar.after(NOW)))
    for order, after in orders:
        with suppress(Refused):
            scene.do(order, after)
    return scene


@given(rule=RULES, terms=TERMS, orders=ORDERS)
@settings(max_examples=300)
def test_a_tick_is_dealt_with_once(rule: str, terms: Terms, orders: list[tuple[str, float]]) -> None:
    dealt = played(rule, terms, orders).dealt
    assert len(dealt) == len(set(dealt))


@given(rule=RULES, terms=TERMS, orders=ORDERS)
def test_the_ticks_of_a_pause_are_never_caught_up_with(
    rule: str, terms: Terms, orders: list[tuple[str, float]]
) -> None:
    assert not played(rule, terms, orders).caught_up


@given(rule=RULES, terms=TERMS, orders=ORDERS)
def test_what_is_asked_for_is_told_apart(rule: str, terms: Terms, orders: list[tuple[str, float]]) -> None:
    scene = played(rule, terms, [(order, 0.0 if order == "trigger" else after) for order, after in orders])
    waiting = [run.tick for run in scene.job.runs if not run.has_tick]
    assert len(waiting) == len(set(waiting))


@given(rule=RULES, terms=TERMS, orders=ORDERS)
def test_there_is_an_end_to_what_is_to_be_done_by_now(rule: str, terms: Terms, orders: list[tuple[str, float]]) -> None:
    scene = played(rule, terms, orders)
    for _ in range(len(scene.job.runs) + 200):
        acts_at = scene.job.acts_at()
        if acts_at is None or acts_at > scene.now:
            return
        before = scene.job
        scene.do("look", 0.0)
        assert scene.job != before
    raise AssertionError("it is looked at again and again")


# Ticks of times past.


@dataclass
class Filling:
    """A backfill, who is at it, and what came of it."""

    job: Job
    now: float = NOW
    claims: int = 0
    records: list[Record] = field(default_factory=list[Record])

    def do(self, order: str, which: int) -> None:
        self.now += 1.0
        running = self.job.running
        mine = running[which % len(running)].owner if running else ""
        match order:
            case "claim":
                self.claims += 1
                self.take(at(self.job, self.now, owner=f"node-{self.claims}"))
            case "ok" | "failed":
                ending: Any = order
                self.take(settled(self.job, mine, Ending(ending), now=self.now))
            case "keep":
                self.job = kept(self.job, mine, now=self.now, ttl=self.job.terms.ttl) or self.job
            case "hand back":
                self.take(handed_back(self.job, mine, now=self.now, has_begun=which % 2 == 0))
            case _:
                self.now += 40.0

    def take(self, step: Step | None) -> None:
        if step is not None:
            self.records += step.records
            self.job = step.job


WORK = st.lists(
    st.tuples(st.sampled_from(["claim", "ok", "failed", "keep", "hand back", "die"]), st.integers(0, 5)), max_size=60
)


@given(rule=RULES, terms=TERMS, ticks=st.integers(1, 12), parallel=st.integers(1, 4), orders=WORK)
@settings(max_examples=200)
def test_of_a_backfill_each_tick_is_done_once_and_never_more_than_so_many_at_once(
    rule: str, terms: Terms, ticks: int, parallel: int, orders: list[tuple[str, int]]
) -> None:
    known = job(rule=rule, terms=terms)
    wanted = ticks_between(known, NOW - 400 * 86_400, NOW, most=ticks)
    beside = filled_in(known, None, word(), since=wanted[0], until=wanted[-1], parallel=parallel).job
    filling = Filling(beside)
    for order in [*orders, *([("claim", 0), ("ok", 0)] * 60)]:
        filling.do(*order)
        assert len(filling.job.runs) <= parallel
    filling.now += 1e4  # whatever was to be tried again, is
    for order in [("claim", 0), ("ok", 0)] * 60:
        filling.do(*order)
    assert sorted(each.tick for each in filling.records if each.is_last) == list(wanted)
    assert {each.source for each in filling.records} == {"backfill"}
    assert (filling.job.next_due, filling.job.runs, filling.job.acts_at()) == (None, (), None)


@given(rule=RULES, ticks=st.integers(1, 6), parallel=st.integers(1, 4), forgotten=st.integers(0, 5))
def test_a_store_that_forgot_does_not_go_beyond_the_end_of_a_backfill(
    rule: str, ticks: int, parallel: int, forgotten: int
) -> None:
    wanted = ticks_between(job(rule=rule), NOW - 400 * 86_400, NOW, most=ticks)
    beside = filled_in(job(rule=rule), None, word(), since=wanted[0], until=wanted[-1], parallel=parallel).job
    told = raised(beside, beside.version, wanted[forgotten % ticks])
    filling = Filling(told)
    for order in [("claim", 0), ("ok", 0)] * 9:
        filling.do(*order)
    assert [each.tick for each in filling.records] == wanted[forgotten % ticks + 1 :]


@given(orders=WORK, parallel=st.integers(1, 4))
def test_of_a_backfill_that_was_given_up_nothing_is_begun_any_more(
    orders: list[tuple[str, int]], parallel: int
) -> None:
    terms = Terms(retries=2, max_attempts=2)
    beside = filled_in(job(terms=terms), None, word(), since=NOW - 6_000, until=NOW, parallel=parallel).job
    filling = Filling(beside)
    for order in orders:
        filling.do(*order)
    filling.take(given_up(filling.job, word(filling.now)))
    ended = [each.tick for each in filling.records if each.is_last] + [run.tick for run in filling.job.runs]
    for order in [*orders, ("claim", 0), ("die", 0), ("claim", 0)]:
        filling.do(*order)
        assert not filling.job.waiting
    assert not filling.job.runs
    assert sorted(each.tick for each in filling.records if each.is_last) == sorted(ended)
