"""A store's sheets against the specification: whatever is asked of them, the answer is as the memory store's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from hypothesis import strategies as st
from hypothesis.stateful import rule

from dibs.model.sheet import Change, Entry, Question
from dibs.model.value import value
from dibs.testing.contract.beside_memory import BesideMemory, case_of

if TYPE_CHECKING:
    from dibs.model.sheet import Look

NAMES = ("a", "b", "c d", "{t}:\u8def\u5f84")
NAME = st.sampled_from(NAMES)
TEXT = st.sampled_from(["text", "", "\n", 'line\n"\u00e9" \\ \0 \u8def\u5f84'])
PART = st.sampled_from(["", "a", "b", "c ", "{t}", "{t}:\u8def", "\u8def", "z"])
WHEN = st.sampled_from([-inf, -45.0, -40.0, -10.0, -1.0, 0.0, 5.0, inf])
AGE = st.sampled_from([0.0, 1.0, 10.0, 40.0, 40.0])
TAG = st.sampled_from(["ok", "node:1", "\u8def ~lines", "a", "b"])
AGES = st.lists(st.tuples(AGE, st.lists(TAG, max_size=3)), max_size=4)


@value
class Draft:
    """A change, before it is said from which revision of whose it is made, and when."""

    name: str
    older: int
    """0: from the sheet as it stands; else from what stood so many changes before, whosever it was."""
    text: str | None
    acts_in: float | None
    starts_in: float
    ends_in: float
    ahead: int
    """By how much the asker has seen more than there was; 0 if it has seen nothing."""
    ages: Sequence[tuple[float, Sequence[str]]]
    """Of the entries, each with its tags."""
    keep: int
    keep_for: float
    unless_due: str


DRAFT = st.builds(
    Draft,
    name=NAME,
    older=st.sampled_from([0, 0, 0, 0, 1, 2]),
    text=TEXT | TEXT | TEXT | st.none(),
    acts_in=st.none() | st.sampled_from([-1e9, -5.0, 0.0, 0.5, 5.0, 20.0, 1e9]),
    starts_in=st.sampled_from([-inf, -inf, -1.0, 0.0, 1_000.0]),
    ends_in=st.sampled_from([inf, inf, 60.0, 0.0, -1.0]),
    ahead=st.sampled_from([0, 0, 0, 1_000_000_000]),
    ages=AGES,
    keep=st.integers(1, 6),
    keep_for=st.sampled_from([5.0, 30.0, 1_000.0]),
    unless_due=st.just("") | NAME,
)


class SheetsAgainstMemory(BesideMemory):
    """Changes sheets on both sides, looks at them, and compares.

    Revisions are compared by their order.
    """

    def __init__(self) -> None:
        super().__init__()
        self._revisions: list[tuple[int, int]] = [(0, 0)]

    @rule(drafts=st.lists(DRAFT, min_size=1, max_size=3))
    def amend(self, drafts: Sequence[Draft]) -> None:
        """Change some: from what stands or stood there, in time or not."""
        self._look_at_the_clock()
        mine, theirs = ([self._change(draft, side) for draft in drafts] for side in (0, 1))
        made, spec_made = self._ask(self._locks.amend(mine)), self._ask_spec(self._spec_locks.amend(theirs))
        assert list(map(bool, made)) == list(map(bool, spec_made))
        for change, pair in zip(mine, zip(made, spec_made, strict=True), strict=True):
            if pair[0]:
                self._note(change, pair)

    @rule(skip=st.integers(0, 2), limit=st.integers(1, 4), within=st.none() | WHEN)
    def due(self, skip: int, limit: int, within: float | None) -> None:
        """What is to be looked at by now or by then, by pages, and when the next one is."""
        by = None if within is None else self._now + within
        look, spec = self._ask(self._locks.due(skip, limit, by)), self._ask_spec(self._spec_locks.due(skip, limit, by))
        self._compare(look, spec)
        assert (look.next_at is None) == (spec.next_at is None)
        assert abs((look.next_at or 0.0) - (spec.next_at or 0.0)) < 0.001

    @rule(names=st.lists(NAME, max_size=4))
    def read(self, names: Sequence[str]) -> None:
        """Those of some names, known or not."""
        self._compare(self._ask(self._locks.sheets(names)), self._ask_spec(self._spec_locks.sheets(names)))

    @rule(prefix=PART, after=PART | NAME, limit=st.integers(0, 4))
    def named(self, prefix: str, after: str, limit: int) -> None:
        """Those whose names begin alike, by pages."""
        words = prefix, after, limit
        self._compare(self._ask(self._locks.named(*words)), self._ask_spec(self._spec_locks.named(*words)))

    @rule(draft=DRAFT)
    def note(self, draft: Draft) -> None:
        """Something, with a sheet of that name or without."""
        self._look_at_the_clock()
        words = draft.name, self._entries(draft), draft.keep, draft.keep_for
        assert self._ask(self._locks.note(*words)) is None
        assert self._ask_spec(self._spec_locks.note(*words)) is None

    @rule(tag=NAME | TAG, since=WHEN, until=WHEN, skip=st.sampled_from([0, 0, 1, 3]), limit=st.integers(0, 8))
    def lines(self, tag: str, since: float, until: float, skip: int, limit: int) -> None:
        """What was noted under a name or a tag, within a time."""
        question = Question(tag, self._now + since, self._now + until, skip, limit)
        seen, spec = self._ask(self._locks.lines(question)), self._ask_spec(self._spec_locks.lines(question))
        assert [(line.name, line.text) for line in seen] == [(line.name, line.text) for line in spec]
        assert all(abs(mine.at - theirs.at) < 0.001 for mine, theirs in zip(seen, spec, strict=True))

    def _change(self, draft: Draft, side: int) -> Change:
        at, seen = self._now, max(self._revisions)[side] + draft.ahead if draft.ahead else 0
        return Change(
            draft.name,
            self._made_from(draft)[side],
            draft.text,
            None if draft.acts_in is None else at + draft.acts_in,
            earliest=at + draft.starts_in,
            not_after=at + draft.ends_in,
            seen=seen,
            entries=self._entries(draft),
            keep=draft.keep,
            keep_for=draft.keep_for,
            unless_due=draft.unless_due,
        )

    def _entries(self, draft: Draft) -> Sequence[Entry]:
        return [
            Entry(self._now - age, f"{place}: {draft.text}", tuple(tags))
            for place, (age, tags) in enumerate(draft.ages)
        ]

    def _made_from(self, draft: Draft) -> tuple[int, int]:
        if draft.older:
            return self._revisions[-draft.older % len(self._revisions)]
        found = self._spec.sheets["n:"].kept.get(draft.name)
        return next(pair for pair in self._revisions if pair[1] == (found.revision if found else 0))

    def _note(self, change: Change, pair: tuple[int, int]) -> None:
        """The same change on both sides, each time under a revision above all before."""
        assert min(pair) > 0
        assert all(new > old for new, old in zip(pair, max(self._revisions), strict=True))
        assert pair[0] > change.seen
        self._revisions.append(pair)

    def _compare(self, look: Look, spec: Look) -> None:
        assert [(sheet.name, sheet.text) for sheet in look.sheets] == [
            (sheet.name, sheet.text) for sheet in spec.sheets
        ]
        pairs = [(mine.revision, theirs.revision) for mine, theirs in zip(look.sheets, spec.sheets, strict=True)]
        assert set(pairs) <= set(self._revisions)
        assert abs(look.now - self._now) < 0.001


sheets_against_memory = partial(case_of, SheetsAgainstMemory)
"""A test case that runs a store's sheets against the specification; it is asked for as `case_of` is."""
