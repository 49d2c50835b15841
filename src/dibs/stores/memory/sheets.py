"""The sheets of one namespace, and the histories beside them: what all stores must do with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf

from dibs.model.sheet import MOST_FORGOTTEN, Change, Entry, Line, Look, Question, Sheet
from dibs.model.value import value


@value
class Noted:
    """An entry, and its place among all that were noted at the same time."""

    entry: Entry
    order: tuple[float, int, int]


@value
class History:
    """What was noted under one name, the oldest first; it ends unless something is added to it until then."""

    noted: Sequence[Noted]
    ends_at: float


@dataclass(slots=True)
class Sheets:
    """Sheets by name, when each is to be looked at again, and what was noted."""

    life: str = ""
    kept: dict[str, Sheet] = field(default_factory=dict[str, Sheet])
    acts_at: dict[str, float] = field(default_factory=dict[str, float])
    histories: dict[str, History] = field(default_factory=dict[str, History])

    def due(self, now: float, skip: int, limit: int, by: float | None = None) -> Look:
        """The sheets whose time has come by then, and when the time of the next one comes."""
        by = now if by is None else by
        order = sorted((at, name) for name, at in self.acts_at.items())
        sheets = [self.kept[name] for at, name in order if at <= by][skip : skip + limit]
        return Look(now, self.life, sheets, next((at for at, _ in order if at > by), None))

    def read(self, now: float, names: Sequence[str]) -> Look:
        """The sheets of these names, as far as there are any."""
        return Look(now, self.life, [self.kept[name] for name in names if name in self.kept])

    def named(self, now: float, prefix: str, after: str, limit: int) -> Look:
        """The sheets whose names begin so and come after this one, by name."""
        names = sorted(name for name in self.kept if name.startswith(prefix) and name > after)
        return self.read(now, names[:limit])

    def amend(self, change: Change, revision: int, now: float) -> bool:
        """Whether the change is made: only to what it was made from, only in its time, and unless that is frozen."""
        found = self.kept.get(change.name)
        if (found.revision if found else 0) != change.revision or not change.earliest <= now <= change.not_after:
            return False
        if change.unless_due and self.acts_at.get(change.unless_due, inf) <= now:
            return False
        self.acts_at.pop(change.name, None)
        if change.text is None:
            self.kept.pop(change.name, None)
            self.histories.pop(change.name, None)
            return True
        self.kept[change.name] = Sheet(change.name, revision, change.text)
        if change.acts_at is not None:
            self.acts_at[change.name] = change.acts_at
        self.note(change, revision, now)
        return True

    def note(self, change: Change, revision: int, now: float) -> None:
        """Add what there is to add to the history, and drop what is too old, too much, or over."""
        if not change.entries:
            return
        known = self.histories.get(change.name, History((), now)).noted
        added = [Noted(entry, (entry.at, revision, place)) for place, entry in enumerate(change.entries)]
        recent = [each for each in (*known, *added) if each.entry.at > now - change.keep_for]
        self._keep(change.name, History(sorted(recent, key=_order), now + change.keep_for), change.keep)
        self._forget(now)

    def lines(self, question: Question) -> Sequence[Line]:
        """What was noted under a name or a tag, the latest first; of the same time, what was noted last."""
        found = [
            (each.order, Line(name, each.entry.at, each.entry.text))
            for name, history in self.histories.items()
            for each in history.noted
            if question.tag in (name, *each.entry.tags) and question.since <= each.entry.at <= question.until
        ]
        found.sort(key=lambda pair: pair[0], reverse=True)
        return [line for _, line in found][question.skip : question.skip + question.limit]

    def _forget(self, now: float) -> None:
        """Of the histories that are over, those first that were over first."""
        most = MOST_FORGOTTEN
        over = sorted((history.ends_at, name) for name, history in self.histories.items() if history.ends_at <= now)
        for _, name in over:
            history = self.histories[name]
            left = max(len(history.noted) - most, 0)
            most -= len(history.noted) - left
            self._keep(name, history, left)

    def _keep(self, name: str, history: History, most: int) -> None:
        """The latest of it, or nothing if there is none."""
        noted = history.noted[max(len(history.noted) - most, 0) :]
        if noted:
            self.histories[name] = replace(history, noted=noted)
        else:
            self.histories.pop(name, None)


def _order(noted: Noted) -> tuple[float, int, int]:
    return noted.order
