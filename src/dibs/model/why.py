"""Why a tick did or did not run, in words, from what was noted and nothing else."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from dibs.model.because import lacking, recorded
from dibs.model.calendar.text import rule_of
from dibs.model.duration import spoken
from dibs.model.eras import ENDS, bump
from dibs.model.facts import Answer, Facts, Verdict, lasting, said
from dibs.model.fleet import NO_NODE
from dibs.model.ticks import last_tick, moment

if TYPE_CHECKING:
    from dibs.model.job import Job, Run


def why(facts: Facts) -> Answer:
    """Why the tick that is meant did or did not run."""
    told = _gone(facts) or _superseded(facts)
    if told is not None:
        return told
    tick = facts.tick()
    if tick is None:
        return _no_tick(facts)
    under_way = [run for run in facts.runs if run.tick == tick and run.source != "backfill"]
    told = _under_way(facts, under_way[0]) if under_way else recorded(facts, tick) or _unrecorded(facts, tick)
    return replace(told, tick=tick, records=facts.records)


# Of another time.


def _gone(facts: Facts) -> Answer | None:
    """It was removed, or retired, before this tick, or before anybody had begun it."""
    era, meant = facts.era, facts.tick()
    tick = last_tick(rule_of(era.rule), facts.at) if era.how == "gone" else None
    if tick is None or (meant is not None and tick <= meant):
        return None
    acts = () if era.turn is None else (era.turn,)
    by = "".join(f" {said(act.by, act.reason)}" for act in acts)
    words = f"The tick of {moment(tick)} was not run: the schedule was {era.ended} at {moment(era.since)}{by}."
    return Answer("gone", words, tick, acts=acts)


def _superseded(facts: Facts) -> Answer | None:
    """It is a tick of an earlier or a later version."""
    found = facts.superseded()
    if found is None:
        return None
    tick, version, turn = found
    what, by = f"{moment(tick)} is a tick of version {version.number} ({version.rule})", said(turn.by, turn.reason)
    if turn is version.turn:
        words = f"{what}, which held only from {moment(turn.at)} on, when it was {turn.act} {by}."
    else:
        now = f"version {turn.version} ({turn.told})"
        words = f"{what}, which held no more: it was {turn.act} {by} at {moment(turn.at)} to {now}."
    return Answer("superseded", words, tick, acts=[turn])


def _no_tick(facts: Facts) -> Answer:
    era = facts.era
    if era.how == "not yet" and era.turn is not None:
        by = said(era.turn.by, era.turn.reason)
        words = f"There was no such schedule at {moment(facts.at)}: it was added at {moment(era.turn.at)} {by}."
        return Answer("no tick", words, acts=(era.turn,))
    if era.calendar is None:
        words = (
            f"Nothing is known any more of {facts.name!r} at {moment(facts.at)}: its history does not go back so far."
        )
        return Answer("unknown", words)
    following = era.calendar.after(facts.at)
    first = "it has none" if following is None else f"the first is {moment(following)}"
    since = "" if era.turn is None else f" since it was {era.turn.act} at {moment(era.since)} by {era.turn.by}"
    words = f"No tick of it ({era.rule}) had come by {moment(facts.at)}{since}; {first}."
    return Answer("no tick", words, acts=() if era.turn is None else (era.turn,))


# What has not ended.


def _under_way(facts: Facts, run: Run) -> Answer:
    what = _of(facts, run)
    if run.is_running:
        done = "" if run.progress is None else f", {run.progress:.0%} done"
        note = f" ({run.note})" if run.note else ""
        stop = f" It was asked to stop: {run.cancelled_by}." if run.cancelled_by else ""
        words = f"{what} is running on {run.node} since {moment(run.started_at)}{_attempt(run)}{done}{note}.{stop}"
        return Answer("running", words)
    if (span := facts.freeze_over(facts.now)) is not None:
        return _frozen(what, span.by, span.reason, lasting(span))
    return _waiting(facts, run, what)


def _waiting(facts: Facts, run: Run, what: str) -> Answer:
    if run.not_before > facts.now:
        last = facts.records[-1] if facts.records else None
        after = "" if last is None else f": attempt {last.attempt} was {last.outcome}"
        return Answer("waiting", f"{what} is to be tried again at {moment(run.not_before)}{_attempt(run)}{after}.")
    ahead = [each for each in facts.runs if each.is_running]
    if ahead and facts.job is not None and facts.job.terms.overlap != "allow":
        where = f"of {moment(ahead[0].tick)}, on {ahead[0].node} since {moment(ahead[0].started_at)}"
        return Answer("waiting", f"{what} waits for the end of the run {where}.")
    return _nobody(facts, what) or Answer("waiting", f"{what} is to be begun{_attempt(run)}, and nobody has yet.")


def _of(facts: Facts, run: Run) -> str:
    if run.has_tick:
        return f"The tick of {moment(run.tick)}"
    act = next((act for act in facts.acts if act.act == "triggered" and act.tick == run.tick), None)
    return f"The run that was asked for at {moment(run.tick)}" + ("" if act is None else f" {said(act.by, act.reason)}")


def _attempt(run: Run) -> str:
    return f", attempt {run.attempt}" if run.attempt > 1 else ""


# What nothing was noted of.


def _unrecorded(facts: Facts, tick: float) -> Answer:
    what, due = f"The tick of {moment(tick)}", facts.due_at(tick)
    if (pause := facts.pause_over(tick)) is not None:
        until = "" if pause.until == inf else f", until {moment(pause.until)}"
        by = f"paused {said(pause.by, pause.reason)} at {moment(pause.since)}{until}"
        verb = "was" if tick <= facts.now else "will"
        words = f"{what} {verb} not {'run' if verb == 'was' else 'be run'}: the job was {by}."
        return Answer("paused", words, acts=() if pause.act is None else (pause.act,))
    if due > facts.now:
        return Answer("not due yet", f"{what} is not due yet: it is to be run in {spoken(due - facts.now)}.")
    if facts.job is not None and facts.job.next_due is not None and facts.job.next_due <= tick:
        return _overdue(facts, facts.job, due, what)
    return _dropped(facts, tick, what)


def _overdue(facts: Facts, job: Job, due: float, what: str) -> Answer:
    """It has come, and nobody has dealt with it."""
    if (span := facts.freeze_over(facts.now)) is not None:
        return _frozen(what, span.by, span.reason, lasting(span))
    if (told := _nobody(facts, what)) is not None:
        return told
    live = len(facts.fleet.live)
    rest = due + job.terms.grace - facts.now
    grace = (
        f"may be begun for another {spoken(rest)}" if rest >= 0 else f"is past its grace of {spoken(job.terms.grace)}"
    )
    nodes = f"{live} live node{'s' if live > 1 else ''} could"
    words = f"{what} is due since {spoken(facts.now - due)} and nobody has begun it yet, though {nodes}; it {grace}."
    return Answer("waiting", words)


def _nobody(facts: Facts, what: str) -> Answer | None:
    """No live node can do it at this moment."""
    lacks = "" if facts.job is None else facts.fleet.lacks(facts.job)
    verdict = lacking(lacks)
    now = "there is no live node now" if lacks == NO_NODE else lacks
    return None if verdict is None else Answer(verdict, f"{what} is overdue, and {now}.")


def _dropped(facts: Facts, tick: float, what: str) -> Answer:
    """It was dealt with, and nothing says how: a new version leaves behind what was not begun."""
    if not facts.reaches_back:
        kept = "" if facts.job is None else _kept(facts.job)
        return Answer("unknown", f"Nothing is known any more of the tick of {moment(tick)}: its history is over{kept}.")
    turn = bump(facts.acts, tick)
    if turn is None:
        return Answer(
            "unknown", f"Nothing was noted of the tick of {moment(tick)}, and what became of it is not known."
        )
    verdict: Verdict = "paused" if turn.act == "paused" else "gone" if turn.act in ENDS else "superseded"
    by = f"{turn.act} {said(turn.by, turn.reason)} at {moment(turn.at)}"
    words = f"{what} was not run: nobody had begun it when the schedule was {by} (version {turn.version})."
    return Answer(verdict, words, acts=(turn,))


def _kept(job: Job) -> str:
    return f" (it keeps {job.terms.keep} entries, and none for longer than {spoken(job.terms.keep_for)})"


def _frozen(what: str, by: str, reason: str, lasts: str) -> Answer:
    return Answer("frozen", f"{what} is held up: the whole fleet is frozen {said(by, reason)}, {lasts}.")
