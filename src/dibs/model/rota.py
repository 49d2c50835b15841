"""What may happen to a job and its runs: the one table of transitions, as functions from a job to the job after it.

    due -> running -> ok | failed | timeout | lost | cancelled | skipped        and without being run: skipped | missed

A tick is dealt with once: by the step that moves `next_due` past it. Whether a step is taken is decided by the store,
which takes it only from the revision that it was made from; times are the store's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dibs.model.duration import spoken
from dibs.model.job import Gone, Job, Run
from dibs.model.record import Act, Outcome, Record
from dibs.model.ticks import moment, ticks_come
from dibs.model.value import value

LONGEST_PAUSE = 3600.0
PUT_OFF = 30.0
"""A step that nobody can do is looked at again so many seconds later, at the latest."""
SHUT_DOWN = "its node was shut down"


@value
class Step:
    """A job as it is afterwards, what is to be noted of it, and the run that begins with it, if one does."""

    job: Job
    records: Sequence[Record] = ()
    acts: Sequence[Act] = ()
    begun: Run | None = None
    through: float | None = None
    """The last tick that it has dealt with, if it has with any."""
    is_thrown_away: bool = False
    """Whether nothing is kept of it any more."""


@value
class Ending:
    """What came of an attempt, as its node says."""

    outcome: Outcome
    reason: str = ""
    result: str | None = None
    error: str | None = None
    log: tuple[str, ...] = ()


# What is to be done by now.


def advanced(job: Job, *, now: float, owner: str, node: str) -> Step:
    """All that is to be done about a job by now: runs of dead nodes, ticks that have come, and the next run begun."""
    if job.forget_at is not None and job.forget_at <= now:
        return Step(job, is_thrown_away=True)
    buried = _buried(job, now)
    ticked = _ticked(buried.job, now)
    begun = _begun(ticked.job, now, owner, node)
    return concluded(replace(begun, records=(*buried.records, *ticked.records), through=ticked.through), now)


def unattended(job: Job, why: str, *, now: float) -> Step | None:
    """What is to be done about a job that nobody can run: its ticks that may not be begun any more were missed.

    And runs of dead nodes are lost, what is gone is thrown away, and steps are put off; `None` if there is nothing of
    all this.
    """
    if job.forget_at is not None and job.forget_at <= now:
        return Step(job, is_thrown_away=True)
    buried = _buried(job, now)
    missed = _missed(buried.job, why, now)
    records = (*buried.records, *missed.records)
    return concluded(Step(missed.job, records), now) if records else _put_off(job, now)


def _put_off(job: Job, now: float) -> Step | None:
    """A step that is due is looked at again when it has waited for twice as long: others are due behind it."""
    run = next((each for each in job.waiting if each.not_before <= now), None) if job.is_step else None
    if run is None:
        return None
    pause = min(max(now - run.tick, 1.0), PUT_OFF)
    return Step(job.with_run(run, replace(run, not_before=now + pause)))


def tidied(job: Job, *, now: float) -> Step | None:
    """What is to be done about a step that takes nobody to do it: one that is long over is thrown away.

    And one that takes too long, and that its node does not stop, is taken away from it; `None` if it is neither.
    """
    if job.forget_at is not None and job.forget_at <= now:
        return Step(job, is_thrown_away=True)
    late = next((run for run in job.running if job.overdue_at(run) <= now), None)
    if late is None or job.terms.timeout is None:
        return None
    return settled(job, late.owner, Ending("timeout", unstopped(job.terms.timeout)), now=now)


def unstopped(timeout: float) -> str:
    """The reason that is noted of such a step."""
    return f"it took longer than {spoken(timeout)}, and its node did not stop it"


def _missed(job: Job, why: str, now: float) -> Step:
    """Ticks that are out of their grace."""
    grace = job.terms.grace
    come = () if job.backfill is not None else ticks_come(job, now - grace)
    late = [each for each in come if now - job.due_at(each.tick) > grace]
    if not late:
        return Step(job)
    records = [Record(each.tick, "missed", now, why, since=each.since) for each in late]
    return Step(replace(job, next_due=job.calendar.after(late[-1].tick)), records)


def _buried(job: Job, now: float) -> Step:
    """Runs whose lease is over: begun once more if the job allows it, else lost."""
    records = list[Record]()
    for run in [each for each in job.running if each.expires_at <= now]:
        done = _given_up(job, run, now, "its node did not renew it in time")
        job, records = done.job, [*records, *done.records]
    return Step(job, records)


def _ticked(job: Job, now: float) -> Step:
    """Every tick that has come is to be run, or is noted with the reason why not."""
    if job.backfill is not None:
        return _filled_in(job, now)
    come = ticks_come(job, now)
    if not come:
        return Step(job)
    before, records = job, list[Record]()
    for tick in come:
        if tick.missed:
            records.append(Record(tick.tick, "missed", now, tick.missed, since=tick.since))
            continue
        admitted = _admitted(job, before, Run(tick.tick, not_before=now), now)
        job, records = admitted.job, [*records, *admitted.records]
    last = come[-1].tick
    return Step(replace(job, next_due=job.calendar.after(last)), records, through=last)


def _filled_in(job: Job, now: float) -> Step:
    """As many ticks of times past as there may be at once."""
    through: float | None = None
    while job.wants_more and job.next_due is not None:
        through = job.next_due
        run = Run(through, source="backfill", not_before=now)
        job = replace(job, runs=(*job.runs, run), next_due=job.following(through))
    return Step(job, through=through)


def _admitted(job: Job, before: Job, run: Run, now: float) -> Step:
    """A new run beside those that had not ended before the ticks came that it is one of."""
    added = replace(job, runs=(*job.runs, run))
    overlap = job.terms.overlap
    if overlap == "allow" or not before.runs:
        return Step(added)
    if overlap == "skip":
        return Step(job, [Record(run.tick, "skipped", now, _busy_with(before.runs[0]))])
    if overlap == "queue":
        if before.waiting or len(job.waiting) > len(before.waiting):
            return Step(job, [Record(run.tick, "skipped", now, _behind(job.waiting[0]))])
        return Step(added)
    why = f"the tick of {moment(run.tick)} came"
    stopped = replace(added, runs=tuple(each.stopped(why) for each in added.runs if each.is_running or each is run))
    dropped = [recorded(each, "cancelled", now, why) for each in job.waiting]
    return Step(stopped, dropped)


def _busy_with(run: Run) -> str:
    where = f"on {run.node}" if run.is_running else "to be tried again"
    return f"the run of {moment(run.tick)} had not ended: attempt {run.attempt}, {where}"


def _behind(run: Run) -> str:
    return f"another one waits already: the run of {moment(run.tick)}"


def _begun(job: Job, now: float, owner: str, node: str) -> Step:
    """The first that waits is begun, if there is nothing that it would have to wait for."""
    must_wait = job.running and job.terms.overlap != "allow"
    ready = [] if must_wait else [run for run in job.waiting if run.not_before <= now]
    if not ready:
        return Step(job)
    run = replace(ready[0], owner=owner, node=node, fence=0, started_at=now, expires_at=now + job.terms.ttl)
    return Step(job.with_run(ready[0], run), begun=run)


# What its node says of a run.


def kept(job: Job, owner: str, *, now: float, ttl: float, progress: float | None = None, note: str = "") -> Job | None:
    """A run whose node lives; `None` if it is not that owner's any more.

    Its lease is as long as its node believes: by the TTL it was begun with, also if the job has another one since.
    """
    run = job.run_of(owner)
    if run is None:
        return None
    return job.with_run(run, replace(run, expires_at=now + ttl, progress=progress, note=note))


def settled(job: Job, owner: str, ending: Ending, *, now: float) -> Step | None:
    """A run that has ended; `None` if it is not that owner's any more, and what came of it does not count."""
    run = job.run_of(owner)
    if run is None:
        return None
    told = {"result": ending.result, "error": ending.error, "log": ending.log}
    is_failure = ending.outcome in {"failed", "timeout"}
    if not is_failure or run.failures >= job.terms.retries or job.unwanted(run):
        return concluded(Step(job.with_run(run), [recorded(run, ending.outcome, now, ending.reason, **told)]), now)
    pause = min(job.terms.retry_delay * 2.0 ** min(run.failures, 32), LONGEST_PAUSE)
    again = replace(run.again(now + pause, run.attempt + 1), failures=run.failures + 1)
    record = recorded(run, ending.outcome, now, ending.reason, is_last=False, **told)
    return concluded(Step(job.with_run(run, again), [record]), now)


def handed_back(job: Job, owner: str, *, now: float, has_begun: bool) -> Step | None:
    """A run that its node will not end: others go on at once, if that is harmless. `None` as above."""
    run = job.run_of(owner)
    if run is None:
        return None
    if has_begun:
        return concluded(_given_up(job, run, now, SHUT_DOWN), now)
    if why := job.unwanted(run):
        return concluded(Step(job.with_run(run), [recorded(run, "cancelled", now, why)]), now)
    return Step(job.with_run(run, run.again(now, run.attempt)))


# What these are made of.


def concluded(step: Step, now: float) -> Step:
    """The sheet of a step tells what came of its last attempt, and when it has ended for good."""
    job = step.job
    if not job.is_step or not step.records:
        return step
    gone = job.gone if job.runs else Gone("ended", now)
    return replace(step, job=replace(job, last=replace(step.records[-1], log=()), gone=gone))


def _given_up(job: Job, run: Run, now: float, why: str) -> Step:
    if run.attempt >= job.terms.max_attempts or job.unwanted(run):
        return Step(job.with_run(run), [recorded(run, "lost", now, why)])
    return Step(job.with_run(run, run.again(now, run.attempt + 1)), [recorded(run, "lost", now, why, is_last=False)])


def recorded(run: Run, outcome: Outcome, now: float, reason: str, **more: Any) -> Record:
    """What is noted of an attempt."""
    return Record(
        run.tick,
        outcome,
        now,
        reason or run.cancelled_by,
        attempt=run.attempt,
        source=run.source,
        node=run.node,
        fence=run.fence,
        started_at=run.started_at,
        ended_at=now if run.started_at else 0.0,
        progress=run.progress,
        note=run.note,
        **more,
    )
