"""How the histories are read: page by page, until there is as much as is wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, TypeVar

from dibs.flows.asking import ask
from dibs.model.record import Act, Record, noted
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.model.sheet import Line, Question
    from dibs.ports.world import World

T = TypeVar("T", Record, Act)

MOST_READ = 20_000
"""So many lines are looked through at the most."""
PAGE = 1_000


@value
class Found(Generic[T]):
    """Lines of one kind, each with the name of the sheet in whose history it is."""

    lines: Sequence[tuple[str, T]]
    rest: Question | None
    """What to ask for what comes after them; `None` if nothing does."""


async def runs(world: World, desk: Desk, question: Question) -> Sequence[tuple[str, Record]]:
    """What became of ticks, with the name of the sheet; as many as the question wants."""
    return (await found(world, desk, question, Record)).lines


async def acts(world: World, desk: Desk, question: Question) -> Sequence[tuple[str, Act]]:
    """What people have done, the same way."""
    return (await found(world, desk, question, Act)).lines


async def found(
    world: World, desk: Desk, question: Question, kind: type[T], *, fits: Callable[[T], bool] = lambda _: True
) -> Found[T]:
    """The lines of one kind that fit, as many as the question wants, among the first so many that it is about."""
    lines, read = list[tuple[str, T]](), 0
    page, rest = replace(question, limit=min(max(question.limit + 1, 100), PAGE)), question
    while read < MOST_READ:
        seen = await ask(world, desk.store.lines(page), desk.patience)
        for number, line in enumerate(seen, 1):
            told = noted(line.text)
            if not isinstance(told, kind) or not fits(told):
                continue
            if len(lines) == question.limit:
                return Found(lines, replace(rest, limit=question.limit))
            lines.append((line.name, told))
            rest = after(page, seen[:number]) if len(lines) == question.limit else rest
        if len(seen) < page.limit:
            return Found(lines, None)
        read += len(seen)
        page = replace(after(page, seen), limit=_so_many_more(question.limit + 1 - len(lines), len(lines), read))
    return Found(lines, replace(rest if len(lines) == question.limit else page, limit=question.limit))


def _so_many_more(wanted: int, found: int, read: int) -> int:
    """How many lines are likely to have as many that fit as are wanted, by how many of those had that were read."""
    return min(max(wanted * read * 3 // (2 * found), 100), PAGE) if found else PAGE


def after(page: Question, lines: Sequence[Line]) -> Question:
    """The next page: up to the time of the last line, without what we have of that time."""
    last = lines[-1].at
    known = sum(line.at == last for line in lines)
    return replace(page, until=last, skip=known + (page.skip if page.until == last else 0))
