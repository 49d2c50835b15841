"""What held when: by which rule a job was due, and when it was paused, frozen, or had nobody, from what was noted.

What was done is given the oldest first. Whatever was dropped from the histories is not known, and said to be so.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Literal

from dibs.model.calendar.text import rule_of
from dibs.model.ticks import last_tick
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.model.calendar.rule import Rule
    from dibs.model.job import Job, Pause
    from dibs.model.record import Act, Deed

DEFINES, ENDS = frozenset({"added", "changed"}), frozenset({"removed", "retired"})
BUMPS = DEFINES | ENDS | {"paused", "resumed"}
"""After these, what had come and was not begun is not run any more."""
SLACK = 1.0
"""Who cannot be asked is noticed so much later, at the most."""


@value
class Era:
    """What a job was at a moment: due by a rule, not there yet or not any more; or nobody knows."""

    how: Literal["due", "not yet", "gone", "unknown"]
    rule: str = ""
    since: float = -inf
    turn: Act | None = None
    """What made it so; of what was not there yet, what ended that."""
    ended: str = ""
    """How, of what is gone: removed or retired."""

    @property
    def calendar(self) -> Rule | None:
        """By which rule it was due."""
        return rule_of(self.rule) if self.how == "due" else None

    def last_tick(self, by: float) -> float | None:
        """Its last tick by then, if it had one."""
        found = None if self.calendar is None else last_tick(self.calendar, by)
        return found if found is not None and found > self.since else None


@value
class Version:
    """A rule that held once."""

    number: int
    rule: str
    turn: Act | None = None
    """What made it hold, if that is known."""

    @property
    def since(self) -> float:
        """From when on."""
        return -inf if self.turn is None else self.turn.at


@value
class Span:
    """Something that held from then to then, and what says so."""

    since: float
    until: float
    by: str
    reason: str
    act: Act | None = None

    def covers(self, moment: float) -> bool:
        """Whether it held at that moment."""
        return self.since <= moment <= self.until


def era(job: Job | None, acts: Sequence[Act], at: float) -> Era:
    """What a job was at that moment."""
    turns = [act for act in acts if act.act in DEFINES | ENDS and not _is_same(act)]
    before = [act for act in turns if act.at <= at]
    if before:
        return _after(before[-1])
    if turns:
        return _before(turns[0])
    if same := [act.told for act in acts if _is_same(act)]:
        return Era("due", same[0])
    if job is None or job.defined_at > at:
        return Era("unknown")
    if job.gone is None or at < job.gone.at:
        return Era("due", job.rule)
    return Era("gone", job.rule, job.gone.at, ended=job.gone.how)


def _after(turn: Act) -> Era:
    """What it was from then on."""
    if turn.act in ENDS:
        return Era("gone", turn.told, turn.at, turn, ended=turn.act)
    return Era("due", turn.told, turn.at, turn)


def _before(turn: Act) -> Era:
    """What it was before the first that is known."""
    if turn.act == "added":
        return Era("not yet", turn=turn)
    return Era("due", turn.told if turn.act in ENDS else turn.was)


def _is_same(act: Act) -> bool:
    """Whether it was changed, but not when it is due."""
    return act.act == "changed" and not act.was


def bump(acts: Sequence[Act], tick: float) -> Act | None:
    """What left a tick behind that nobody had begun."""
    return next((act for act in acts if act.act in BUMPS and not _is_same(act) and act.at >= tick), None)


def other_versions(acts: Sequence[Act], held: Era) -> Sequence[Version]:
    """The earlier and the later ones, as far as they are known, that were due by other rules."""
    turns = [act for act in acts if act.act in DEFINES and not _is_same(act)]
    known = [Version(act.version, act.told, act) for act in turns]
    if turns and turns[0].was:
        known.insert(0, Version(turns[0].version - 1, turns[0].was))
    return [version for version in known if version.rule != held.rule]


def pauses(job: Job | None, acts: Sequence[Act]) -> Sequence[Span]:
    """When no tick of it was to be run."""
    told = _spans(acts, "paused", frozenset({"resumed", "added"}) | ENDS)
    known = None if job is None or job.pause is None else job.pause
    return told if known is None or any(span.since == known.at for span in told) else [*told, _as_span(known)]


def freezes(freeze: Pause | None, acts: Sequence[Act]) -> Sequence[Span]:
    """When nothing was claimed in the whole fleet."""
    told = _spans(acts, "frozen", frozenset({"thawed"}))
    return told if freeze is None or any(span.since == freeze.at for span in told) else [*told, _as_span(freeze)]


def silences(acts: Sequence[Act]) -> Sequence[Span]:
    """When nodes did not hear from the store."""
    return [Span(_since(act), act.at, act.by, "", act) for act in acts if act.act == "silent"]


def absences(acts: Sequence[Act]) -> Sequence[Span]:
    """When there was no node at all."""
    return [Span(_since(act), act.at, act.by, "", act) for act in acts if act.act == "unattended"]


def over(spans: Sequence[Span], moment: float, *, slack: float = 0.0) -> Span | None:
    """The last of these that held then, or began so soon after."""
    return next((span for span in reversed(spans) if span.covers(moment) or span.covers(moment + slack)), None)


def _spans(acts: Sequence[Act], begins: Deed, ends: frozenset[str]) -> Sequence[Span]:
    spans = list[Span]()
    for place, act in enumerate(acts):
        if act.act == begins:
            end = next((each.at for each in acts[place + 1 :] if each.act in {begins, *ends}), inf)
            spans.append(Span(act.at, min(end, inf if act.until is None else act.until), act.by, act.reason, act))
    return spans


def _as_span(pause: Pause) -> Span:
    return Span(pause.at, inf if pause.until is None else pause.until, pause.by, pause.reason)


def _since(act: Act) -> float:
    return -inf if act.since is None else act.since
