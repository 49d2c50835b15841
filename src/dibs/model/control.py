"""What people may do to a job: functions from a job to the job after it, beside those of the clock (`rota`).

Whatever changes when a job is due is a new version of it. Ticks of a pause are never caught up with.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf, nextafter
from typing import TYPE_CHECKING, Any, Literal

from dibs.model.job import BACKFILL, Backfill, Gone, Job, Pause, Run
from dibs.model.record import Act, Deed, Record
from dibs.model.rota import Step
from dibs.model.ticks import ticks_come
from dibs.model.value import value

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_ASKED_FOR = 1_000
"""So many runs of a job may wait that somebody has asked for."""
MOST_BYTES_ASKED_FOR = 262_144
"""So long may all be together with which these are to be called: the sheet is read with every look at the job."""
MOST_FILLED_IN = 100_000
"""So many ticks may one backfill have."""
APART = 1e-6
"""Two that are asked for at the same time are told apart by this."""
MICROSECONDS = 6


@value
class Word:
    """Who says so, when, and why."""

    by: str
    at: float
    reason: str = ""

    @property
    def spoken(self) -> str:
        """As the reason why something was not run."""
        return f"{self.by} said so" + (f": {self.reason}" if self.reason else "")


class Refused(Exception):
    """It cannot be done to the job as it stands; says why."""


def paused(job: Job, word: Word, *, until: float | None = None) -> Step:
    """No tick is run until the pause is over; what was begun, is to be tried again or is asked for goes on."""
    _refuse_gone(job)
    if until is not None and until <= word.at:
        raise Refused("that moment has passed: name one that is yet to come, or none")
    told = _anew(job, Pause(word.by, word.at, word.reason, until), word.at)
    late = left_out(job, f"{word.by} paused it before it was begun", word.at)
    return Step(told, late, acts=[_act("paused", told, word, until=until)])


def resumed(job: Job, word: Word) -> Step:
    """Its ticks are run again, from now on."""
    _refuse_gone(job)
    if not job.is_paused(word.at):
        raise Refused("it is not paused")
    told = _anew(job, None, word.at)
    return Step(told, acts=[_act("resumed", told, word)])


def triggered(job: Job, word: Word, *, arguments: str = "") -> Step:
    """It is run once more than its schedule says, as soon as its turn comes; also while it is paused."""
    _refuse_gone(job)
    asked_for = [run.tick for run in job.runs if not run.has_tick]
    if len(asked_for) >= MOST_ASKED_FOR:
        raise Refused(f"{MOST_ASKED_FOR} runs of it that were asked for have not ended: wait for some of them")
    told = sum(len(run.arguments) for run in job.runs) + len(arguments)
    if arguments and told > MOST_BYTES_ASKED_FOR:
        raise Refused(f"what waits would have arguments of {told} bytes, and {MOST_BYTES_ASKED_FOR} are the most")
    tick = round(max([word.at, *(tick + APART for tick in asked_for)]), MICROSECONDS)  # as a datetime can name it
    run = Run(tick, source="trigger", not_before=word.at, arguments=arguments)
    act = _act("triggered", job, word, tick=tick, told=arguments)
    return Step(replace(job, runs=(*job.runs, run)), acts=[act])


def without_next(job: Job, word: Word) -> Step:
    """The next tick is not run."""
    tick = job.next_due
    if tick is None or job.backfill is not None:
        raise Refused("no tick of it is to come")
    if job.is_paused(word.at):
        raise Refused("it is paused: pause it for longer, if its first tick after that is not to be run either")
    following = job.calendar.after(tick)
    later = replace(job, next_due=following, mark=following or job.mark)
    skipped = Record(tick, "skipped", word.at, word.spoken)
    return Step(later, [skipped], acts=[_act("skipped next", later, word, tick=tick)])


def cancelled(job: Job, word: Word, *, tick: float | None = None) -> Step:
    """Its runs, or those of one tick, are to stop, and those that wait are not begun."""
    meant = [run for run in job.runs if tick is None or round(run.tick, MICROSECONDS) == round(tick, MICROSECONDS)]
    if not meant:
        raise Refused("nothing of it is under way" if tick is None else "nothing is under way for that tick")
    why = f"cancelled by {word.by}" + (f": {word.reason}" if word.reason else "")
    kept = tuple(run.stopped(why) if run in meant else run for run in job.runs if run.is_running or run not in meant)
    dropped = [_dropped(run, why, word.at) for run in meant if not run.is_running]
    return Step(replace(job, runs=kept), dropped, acts=[_act("cancelled", job, word, tick=tick)])


def removed(job: Job, word: Word) -> Step:
    """It is run no more; what was begun goes on, and what waits is dropped. Its history is kept for as long as ever."""
    _refuse_gone(job)
    return ended(job, word, "removed")


# Ticks of times past.


def filled_in(job: Job, beside: Job | None, word: Word, *, since: float, until: float, parallel: int) -> Step:
    """The sheet beside a job by which its ticks from then to then are run, so many at once."""
    _refuse_gone(job)
    if beside is not None and (beside.next_due is not None or beside.runs):
        raise Refused("another backfill of it is under way: wait for its end, or cancel it")
    ticks = ticks_between(job, since, until, most=MOST_FILLED_IN + 1)
    if not ticks or ticks[-1] > word.at:
        raise Refused("no tick of it is in that time" if not ticks else "not all of these ticks have come yet")
    if len(ticks) > MOST_FILLED_IN:
        raise Refused(f"that is more than {MOST_FILLED_IN:,} ticks: do it in parts")
    terms = replace(job.terms, overlap="allow")
    known = beside or Job(job.name + BACKFILL, 0, 0, job.rule, terms, None)
    sheet = replace(
        known,
        version=known.version + 1,
        rule=job.rule,
        terms=terms,
        next_due=ticks[0],
        function=job.done_by,
        arguments=job.arguments,
        gone=None,
        backfill=Backfill(ticks[-1], parallel, word.by, word.at, word.reason),
    )
    act = _act("backfill", sheet, word, since=ticks[0], until=ticks[-1], told=f"{len(ticks)} ticks, {parallel} at once")
    return Step(sheet, acts=[act])


def given_up(beside: Job, word: Word) -> Step:
    """No further ticks of times past are run; those under way are to stop."""
    if beside.next_due is None and not beside.runs:
        raise Refused("no backfill of it is under way")
    left = replace(beside, version=beside.version + 1, next_due=None)
    if not left.runs:
        return Step(left, acts=[_act("cancelled", left, word)])
    return cancelled(left, word)


def ticks_between(job: Job, since: float, until: float, *, most: int) -> Sequence[float]:
    """Its ticks from then to then, both included; the first so many of them."""
    ticks, tick = list[float](), job.calendar.after(nextafter(since, -inf))
    while tick is not None and tick <= until and len(ticks) < most:
        ticks.append(tick)
        tick = job.calendar.after(tick)
    return ticks


# What these are made of.


def ended(job: Job, word: Word, how: Literal["removed", "retired"]) -> Step:
    """It is run no more. What was begun goes on, what waits is dropped."""
    gone, mark = Gone(how, word.at), job.marked(word.at)
    over = replace(job, version=job.version + 1, next_due=None, runs=job.running, gone=gone, mark=mark)
    dropped = [_dropped(run, f"its schedule was {how}", word.at) for run in job.waiting]
    late = left_out(job, f"its schedule was {how} before it was begun", word.at)
    return Step(over, [*late, *dropped], acts=[_act(how, over, word, told=job.rule)])


def left_out(job: Job, why: str, now: float) -> Sequence[Record]:
    """What is noted of ticks that have come, and are not begun any more as somebody has changed when it is due."""
    come = () if job.backfill is not None else ticks_come(job, now)
    return [
        Record(each.tick, "missed" if each.missed else "skipped", now, each.missed or why, since=each.since)
        for each in come
    ]


def _anew(job: Job, pause: Pause | None, now: float) -> Job:
    """A new version of it, from now on. What was dealt with before its tick came stays so, too."""
    told = replace(job, version=job.version + 1, pause=pause, mark=job.marked(now))
    return replace(told, next_due=told.due_from(now))


def _refuse_gone(job: Job) -> None:
    if job.gone is not None:
        raise Refused(f"it was {job.gone.how}")


def _dropped(run: Run, why: str, now: float) -> Record:
    return Record(run.tick, "cancelled", now, why, attempt=run.attempt, source=run.source)


def _act(deed: Deed, job: Job, word: Word, **more: Any) -> Act:
    return Act(deed, word.at, word.by, word.reason, version=job.version, **more)
