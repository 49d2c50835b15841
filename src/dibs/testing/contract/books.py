"""Somebody who asks a store about sheets and histories, without a client in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import pytest

from dibs.model.sheet import Change, Entry, Line, Look, Question
from dibs.testing.contract.lines import LINES, Ear

if TYPE_CHECKING:
    from dibs.ports.store import Command
    from dibs.ports.wire import Backend


class Books:
    """Somebody who keeps the sheets of one namespace."""

    def __init__(self, backend: Backend, colour: str, namespace: str) -> None:
        self._line, self._store = LINES[colour](backend, Ear()), backend.locks(namespace)
        self.close = self._line.close

    def ask(self, command: Command[Any]) -> Any:
        """What the store answers."""
        return command.read(self._line.value(command))

    def due(self, *, skip: int = 0, limit: int = 100, by: float | None = None) -> Look:
        """What is to be looked at by now, or by then."""
        look: Look = self.ask(self._store.due(skip, limit, by))
        return look

    def names_due(self, *, skip: int = 0, limit: int = 100, by: float | None = None) -> list[str]:
        """Whose sheets are to be looked at by now, or by then."""
        return [sheet.name for sheet in self.due(skip=skip, limit=limit, by=by).sheets]

    def named(self, prefix: str = "", after: str = "", limit: int = 100) -> list[str]:
        """Who has sheets, by name."""
        return [sheet.name for sheet in self.look_at_named(prefix, after, limit).sheets]

    def look_at_named(self, prefix: str = "", after: str = "", limit: int = 100) -> Look:
        """Their sheets."""
        look: Look = self.ask(self._store.named(prefix, after, limit))
        return look

    def read(self, *names: str) -> Look:
        """These sheets."""
        look: Look = self.ask(self._store.sheets(names))
        return look

    def amend(self, *changes: Change) -> Sequence[int]:
        """Change sheets."""
        revisions: Sequence[int] = self.ask(self._store.amend(changes))
        return revisions

    def keep(self, name: str, text: str = "text", **more: Any) -> int:
        """A sheet of this name is there from now on, in place of what was there."""
        found = self.read(name).sheets
        change: dict[str, Any] = {"acts_at": None, "earliest": -inf, "not_after": inf, **more}
        [revision] = self.amend(Change(name, found[0].revision if found else 0, text, **change))
        assert revision
        return revision

    def throw_away(self, name: str) -> int:
        """There is no sheet of this name from now on."""
        [sheet] = self.read(name).sheets
        [revision] = self.amend(Change(name, sheet.revision, None, None, -inf, inf))
        assert revision
        return revision

    def note(self, name: str, *entries: Entry, keep: int = 1_000, keep_for: float = 1_000.0) -> None:
        """Add to a history without a sheet."""
        self.ask(self._store.note(name, entries, keep, keep_for))

    def lines(self, tag: str, **more: Any) -> Sequence[Line]:
        """What was noted."""
        lines: Sequence[Line] = self.ask(self._store.lines(Question(tag, **more)))
        return lines

    def history(self, tag: str, limit: int = 100, **more: Any) -> list[str]:
        """The texts of what was noted."""
        return [line.text for line in self.lines(tag, limit=limit, **more)]


class BookKeeping:
    """What the tests of sheets and of histories begin with."""

    @pytest.fixture(params=["blocking", "asyncio"])
    def books(self, backend: Backend, request: pytest.FixtureRequest) -> Iterator[Books]:
        """Both colours."""
        books = Books(backend, request.param, "jobs")
        yield books
        books.close()
