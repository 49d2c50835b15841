"""What people and nodes have said of the jobs of a world, as the store took it; it forgets what the store forgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, nextafter
from typing import TYPE_CHECKING

from dibs.model.calendar.text import rule_of
from dibs.model.control import APART
from dibs.model.job import Job
from dibs.model.record import Act, Deed
from dibs.model.value import value
from dibs.testing.simulation.cron.matter import Matter, matter_of

if TYPE_CHECKING:
    from dibs.testing.simulation.agenda import Agenda


@value
class Intent:
    """What somebody wants to do, before the store is asked."""

    by: str
    deed: Deed
    job: str = ""
    until: float | None = None
    since: float | None = None
    rule: str = ""
    arguments: str = ""
    parallel: int = 0


@value
class Standing:
    """How a schedule stands by what was last said of it."""

    rule: str
    opens_at: float
    """Ticks up to here are not run."""
    since: float
    """Since when, in the world's own time."""
    paused_until: float = -inf
    skipped: frozenset[float] = frozenset()
    is_gone: bool = False


@value
class Fill:
    """A backfill: its ticks, and how many of them may be run at once."""

    since: float
    ticks: Sequence[float]
    parallel: int
    is_given_up: bool = False


@value
class Book:
    """All that holds at a moment."""

    standings: Mapping[str, Standing] = field(default_factory=dict[str, Standing])
    cancelled: frozenset[Matter] = frozenset()
    asked_for: Mapping[Matter, str] = field(default_factory=dict[Matter, str])
    """With which arguments."""
    fills: Mapping[str, Fill] = field(default_factory=dict[str, Fill])
    """By the name of the sheet."""
    frozen_until: float = -inf
    frozen_since: float = inf
    lines: frozenset[str] = frozenset()
    """The reasons of all acts of which the store should know."""


@dataclass(slots=True)
class Ledger:
    """The book of a world, and those before it."""

    agenda: Agenda
    book: Book = field(default_factory=Book)
    intents: dict[str, Intent] = field(default_factory=dict[str, Intent])
    """What people want, by the reason they give, which nobody gives twice."""
    taken: set[str] = field(default_factory=set[str])
    """Of these, what the store took, whether or not it has forgotten it."""
    forgot_at: float = -inf
    _past: list[tuple[float, Book]] = field(default_factory=list[tuple[float, Book]])

    def forget(self, since: float) -> None:
        """The store knows nothing any more of what it was told since then."""
        self.forgot_at = self.agenda.now
        if since == -inf:
            self.book = Book()
        while self._past and self._past[-1][0] >= since:
            self.book = self._past.pop()[1]

    def take(self, old: Job | None, new: Job, act: Act) -> None:
        """Somebody has done this, and the store took it."""
        intent = self.intents.get(act.reason)
        match act.act:
            case "triggered" if act.tick is not None:
                arguments = new.arguments if intent is None else intent.arguments or new.arguments
                matter = new.name, act.tick, "trigger"
                self._write(act, asked_for={**self.book.asked_for, matter: arguments})
            case "cancelled":
                self._cancel(old or new, act)
            case "backfill":
                fill = Fill(self.agenda.now, _ticks(new, intent), 0 if intent is None else intent.parallel)
                self._write(act, fills={**self.book.fills, new.name: fill})
            case _:
                known = self.book.standings.get(new.name)
                stands = replace(_stands(known, act, intent), since=self.agenda.now)
                self._write(act, standings={**self.book.standings, new.name: stands})

    def freeze(self, act: Act) -> None:
        """The whole fleet is to stop."""
        intent = self.intents.get(act.reason)
        until = act.until if intent is None else intent.until
        self._write(act, frozen_until=inf if until is None else until, frozen_since=self.agenda.now)

    def melt(self, act: Act | None) -> None:
        """It goes on."""
        self._write(act, frozen_until=-inf, frozen_since=inf)

    def _cancel(self, old: Job, act: Act) -> None:
        meant = {matter_of(old, run) for run in old.runs if act.tick in (None, run.tick)}
        fills = dict(self.book.fills)
        if old.name in fills and act.tick is None:
            fills[old.name] = replace(fills[old.name], is_given_up=True)
        self._write(act, cancelled=self.book.cancelled | meant, fills=fills)

    def _write(self, act: Act | None, **what: object) -> None:
        self._past.append((self.agenda.now, self.book))
        self.book = replace(self.book, **what)  # type: ignore[arg-type]
        if act is not None and act.reason in self.intents:
            self.book = replace(self.book, lines=self.book.lines | {act.reason})
            self.taken.add(act.reason)


def _stands(known: Standing | None, act: Act, intent: Intent | None) -> Standing:
    """A schedule after what was done to it."""
    if known is None:
        return Standing(_rule(act, intent), act.at, 0.0)
    match act.act:
        case "paused":
            until = act.until if intent is None else intent.until
            until = inf if until is None else nextafter(until, 0.0)
            return replace(known, opens_at=until, paused_until=until)
        case "resumed":
            return replace(known, opens_at=act.at, paused_until=-inf)
        case "skipped next" if act.tick is not None:
            return replace(known, skipped=known.skipped | {act.tick})
        case "removed" | "retired":
            return replace(known, opens_at=inf, is_gone=True)
        case _:
            return _defined(known, act, intent)


def _defined(known: Standing, act: Act, intent: Intent | None) -> Standing:
    """By another rule, or there again: from then on, and what was to be skipped of the other rule is forgotten."""
    rule = _rule(act, intent)
    if rule == known.rule and not known.is_gone:
        return known
    paused_until = -inf if intent is not None and act.act == "added" else known.paused_until
    skipped = known.skipped if rule == known.rule else frozenset[float]()
    return Standing(rule, max(act.at, paused_until), 0.0, paused_until, skipped)


def _rule(act: Act, intent: Intent | None) -> str:
    return act.told if intent is None else intent.rule


def _ticks(job: Job, intent: Intent | None) -> Sequence[float]:
    ticks = list[float]()
    if intent is None or intent.since is None or intent.until is None:
        return ticks
    calendar = rule_of(job.rule)
    tick = calendar.after(intent.since - APART)
    while tick is not None and tick <= intent.until:
        ticks.append(tick)
        tick = calendar.after(tick)
    return ticks
