"""What people iterate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from dibs.closing import Closing
from dibs.leader.candidate import Candidate, Rules

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from dibs.leader.term import Term


class Leader:
    """What there is to be led. It may be shared: each who stands for it calls `terms()`."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    @property
    def name(self) -> str:
        """The name of the lock that the leader holds."""
        return self._rules.wish.name

    def terms(self) -> Terms:
        """Stand for it: the terms that are won, one after the other."""
        return Terms(Candidate(self._rules))

    def __repr__(self) -> str:
        return f"<Leader {self.name!r} ttl={self._rules.wish.ttl:g}s>"


class _Steps:
    """What can be asked for the next term, in both colours."""

    last: Term | None = None

    def __init__(self, candidate: Candidate) -> None:
        self._candidate = candidate

    def __next__(self) -> Term:
        self.last = self._candidate.step()
        if self.last is None:
            raise StopIteration
        return self.last

    async def __anext__(self) -> Term:
        self.last = await self._candidate.astep()
        if self.last is None:
            raise StopAsyncIteration
        return self.last


class Terms(_Steps, Closing):
    """The terms of one candidate, for one thread or task. A block of it resigns the last one at its end."""

    def __iter__(self) -> Iterator[Term]:
        return _Loop(self._candidate)

    def __aiter__(self) -> AsyncIterator[Term]:
        return _Loop(self._candidate)

    def close(self) -> None:
        """Resign, and stand no more."""
        if (term := self._candidate.close()) is not None:
            term.resign()

    async def aclose(self) -> None:
        """Resign, and stand no more."""
        if (term := self._candidate.close()) is not None:
            await term.aresign()

    def __enter__(self) -> Self:
        self._candidate.is_in_block = True
        return self

    async def __aenter__(self) -> Self:
        self._candidate.is_in_block = True
        return self

    def __repr__(self) -> str:
        return f"<Terms of {self._candidate!r}>"


class _Loop(_Steps):
    """What `for` and `async for` hold on to: once it is dropped, the loop was left, and the term with it."""

    def __iter__(self) -> Self:
        return self

    def __aiter__(self) -> Self:
        return self

    def __del__(self) -> None:
        if self.last is not None:
            self._candidate.drop(self.last)
