"""What was noted of a tick, in words, and what is known of how it came to that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dibs.model.duration import spoken
from dibs.model.facts import NOTICEABLE, Answer, Facts, Verdict, lasting, late, said
from dibs.model.fleet import NO_FUNCTION, NO_LABEL, NO_NODE
from dibs.model.ticks import OUTSIDE_GRACE, PUNCTUAL, moment
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.model.record import Act, Record

UNKNOWN_CAUSE = "What kept the nodes from it is not recorded."
ENDS: Mapping[str, Verdict] = {"lost": "lost", "cancelled": "cancelled"}
LACKING: Mapping[str, Verdict] = {NO_NODE: "no live node", NO_FUNCTION: "no function", NO_LABEL: "no label"}


@value
class Cause:
    """What kept the nodes from a tick."""

    verdict: Verdict
    words: str
    acts: Sequence[Act] = ()


def recorded(facts: Facts, tick: float) -> Answer | None:
    """What was noted of it; `None` if nothing was."""
    filled = [record for record in facts.records if record.source == "backfill"]
    others = [record for record in facts.records if record.source != "backfill"]
    if not others:
        return None if not filled else Answer("ran", _filled_in(filled[-1], "The tick of"))
    told = _judged(facts, tick, others)
    if not filled:
        return told
    return replace(told, words=f"{told.words} {_filled_in(filled[-1], 'A backfill: the tick of')}")


def _judged(facts: Facts, tick: float, records: Sequence[Record]) -> Answer:
    last = records[-1]
    if last.started_at:
        return _ran(facts, records)
    if last.outcome == "missed":
        return _missed(facts, last, tick)
    if last.outcome == "skipped":
        return _skipped(facts, last, tick)
    return Answer("cancelled", f"{_what(facts, last)} was not run: {last.reason}.")


# What ran.


def _ran(facts: Facts, records: Sequence[Record]) -> Answer:
    first, last = next(record for record in records if record.started_at), records[-1]
    due = first.tick if first.source == "trigger" else facts.due_at(first.tick)
    begun = f"ran on {last.node} at {moment(last.started_at)}{late(first.started_at - due)}{_tries(last)}"
    told = Answer(ENDS.get(last.outcome, "ran"), f"{_what(facts, last)} {begun}: {_end(last)}.{_without_store(last)}")
    with_cause = _late(facts, told, first, due)
    return replace(with_cause, acts=[*_asked(facts, last), *with_cause.acts])


def _late(facts: Facts, told: Answer, first: Record, due: float) -> Answer:
    """The same with what kept it, if it was late."""
    late_by = first.started_at - due
    cause = _cause(facts, due, first) if late_by >= NOTICEABLE else None
    if cause is None and late_by <= PUNCTUAL:
        return told
    why = UNKNOWN_CAUSE if cause is None else f"It was late as {cause.words}."
    verdict: Verdict = "ran late" if told.verdict == "ran" else told.verdict
    return replace(told, verdict=verdict, words=f"{told.words} {why}", acts=() if cause is None else cause.acts)


def _end(record: Record) -> str:
    took = spoken(record.duration)
    if record.outcome == "lost":
        return f"it was lost after {took}, as {record.reason}"
    why = f": {record.reason}" if record.reason and record.outcome != "ok" else ""
    return f"{record.outcome} after {took}{why}"


def _tries(record: Record) -> str:
    return f", attempt {record.attempt}" if record.attempt > 1 else ""


def _without_store(record: Record) -> str:
    return " Its node went by its own clock, as the store was silent." if record.source == "outage" else ""


def _filled_in(record: Record, what: str) -> str:
    where = f" on {record.node} at {moment(record.started_at)}" if record.started_at else ""
    return f"{what} {moment(record.tick)} was filled in{where}: {_end(record)}."


# What did not.


def _missed(facts: Facts, record: Record, tick: float) -> Answer:
    words = f"{_what(facts, record)} was missed: {record.reason}."
    if (verdict := lacking(record.reason)) is not None:
        return Answer(verdict, words)
    cause = _cause(facts, facts.due_at(tick), record)
    if cause is not None:
        because = f"It could not be run in time as {cause.words}."
        return Answer(cause.verdict, f"{words} {because}", acts=cause.acts)
    is_late = OUTSIDE_GRACE in record.reason
    return Answer("outside grace" if is_late else "missed", f"{words} {UNKNOWN_CAUSE}")


def lacking(reason: str) -> Verdict | None:
    """Which verdict it is that nobody could do a job; `None` if it is for another reason."""
    return next((verdict for begin, verdict in LACKING.items() if reason.startswith(begin)), None)


def _skipped(facts: Facts, record: Record, tick: float) -> Answer:
    act = next((act for act in facts.acts if act.act == "skipped next" and act.tick == tick), None)
    if act is None:
        return Answer("overlap", f"{_what(facts, record)} was skipped: {record.reason}.")
    words = f"{_what(facts, record)} was skipped {said(act.by, act.reason)} at {moment(act.at)}."
    return Answer("skipped", words, acts=(act,))


# Why so late.


def _cause(facts: Facts, due: float, record: Record) -> Cause | None:
    """What is known to have kept the nodes from a tick when it was due."""
    if (span := facts.freeze_over(due)) is not None:
        words = f"the whole fleet was frozen {said(span.by, span.reason)}, {lasting(span)}"
        return Cause("frozen", words, () if span.act is None else (span.act,))
    if (span := facts.silence_over(due)) is not None:
        words = f"the store was silent to {span.by} {lasting(span)}"
        return Cause("store down", words, () if span.act is None else (span.act,))
    if (span := facts.absence_over(due)) is not None:
        words = f"there was no live node {lasting(span)}, when {span.by} came"
        return Cause("no live node", words, () if span.act is None else (span.act,))
    return _in_the_way(facts, due) or _busy(facts, record)


def _in_the_way(facts: Facts, due: float) -> Cause | None:
    may_overlap = facts.job is not None and facts.job.terms.overlap == "allow"
    for other in () if may_overlap else facts.earlier:
        if other.started_at and other.started_at <= due < other.ended_at:
            run = f"the run of {moment(other.tick)} on {other.node}"
            return Cause("overlap", f"it waited for {run}, which ended at {moment(other.ended_at)}")
    return None


def _busy(facts: Facts, record: Record) -> Cause | None:
    node = next((node for node in facts.fleet.nodes if node.name == record.node), None)
    if node is None or not facts.beside or facts.beside < node.workers:
        return None
    others = f"{facts.beside} other run{'s' if facts.beside > 1 else ''}"
    words = f"{node.name} had no worker free when it was due: it was at {others}"
    return Cause("waiting", words)


def _what(facts: Facts, record: Record) -> str:
    if record.source != "trigger":
        return f"The tick of {moment(record.tick)}"
    by = "".join(f" {said(act.by, act.reason)}" for act in _asked(facts, record))
    return f"The run that was asked for at {moment(record.tick)}{by}"


def _asked(facts: Facts, record: Record) -> Sequence[Act]:
    return [act for act in facts.acts if act.act == "triggered" and act.tick == record.tick]
