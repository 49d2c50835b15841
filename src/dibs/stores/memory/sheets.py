"""The sheets of one namespace, and the histories beside them: what all stores must do with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dibs.model.sheet import Change, Entry, Look, Sheet


@dataclass(slots=True)
class Sheets:
    """Sheets by name, when each is to be looked at again, and what was noted."""

    life: str = ""
    kept: dict[str, Sheet] = field(default_factory=dict[str, Sheet])
    acts_at: dict[str, float] = field(default_factory=dict[str, float])
    entries: dict[str, list[Entry]] = field(default_factory=dict[str, list[Entry]])

    def due(self, now: float, skip: int, limit: int) -> Look:
        """The sheets whose time has come, and when the time of the next one comes."""
        order = sorted((at, name) for name, at in self.acts_at.items())
        sheets = [self.kept[name] for at, name in order if at <= now][skip : skip + limit]
        return Look(now, self.life, sheets, next((at for at, _ in order if at > now), None))

    def read(self, now: float, names: Sequence[str]) -> Look:
        """The sheets of these names, as far as there are any."""
        return Look(now, self.life, [self.kept[name] for name in names if name in self.kept])

    def amend(self, change: Change, revision: int, now: float) -> bool:
        """Whether the change is made: only to what it was made from, and only in its time."""
        found = self.kept.get(change.name)
        if (found.revision if found else 0) != change.revision or not change.earliest <= now <= change.not_after:
            return False
        self.acts_at.pop(change.name, None)
        if change.text is None:
            self.kept.pop(change.name, None)
            self.entries.pop(change.name, None)
            return True
        self.kept[change.name] = Sheet(change.name, revision, change.text)
        if change.acts_at is not None:
            self.acts_at[change.name] = change.acts_at
        if change.entries:
            self._note(change, now)
        return True

    def history(self, name: str, limit: int) -> Sequence[str]:
        """What was noted, the latest first; of the same time, what was noted last."""
        return [entry.text for entry in self.entries.get(name, ())[::-1]][:limit]

    def _note(self, change: Change, now: float) -> None:
        known = [*self.entries.get(change.name, ()), *change.entries]
        recent = sorted((entry for entry in known if entry.at > now - change.keep_for), key=lambda entry: entry.at)
        self.entries[change.name] = recent[-change.keep :]
