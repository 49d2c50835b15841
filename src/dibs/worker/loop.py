"""What `for` and `async for` go over: the attempts that are ours."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Self

from dibs.errors import DibsError
from dibs.runtime.blocking import run
from dibs.worker.attempt import Attempt

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from dibs.worker.rounds import Rounds
    from dibs.worker.session import Session


class Attempts:
    """The attempts of one round that fall to this worker; after the last, `worker.finish` tells how it ended."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds

    def __iter__(self) -> Iterator[Attempt]:
        with self._rounds.one() as session:
            while isinstance(attempt := run(session.next()), Attempt):
                is_left = True
                try:
                    yield attempt
                    is_left = False
                finally:
                    if is_left:  # by break, return or an error: there is nobody to tell of trouble
                        with suppress(DibsError):
                            run(session.end(attempt))
                run(session.conclude(attempt))

    def __aiter__(self) -> AsyncIterator[Attempt]:
        return _Loop(self._rounds)

    def __repr__(self) -> str:
        return f"<Attempts of {self._rounds.rules.wish.name!r}>"


class _Loop:
    """What `async for` holds on to: once it is dropped, the loop was left. Nobody could await its farewell then."""

    _session: Session | None = None
    _attempt: Attempt | None = None

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Attempt:
        if self._session is None:
            self._session = self._rounds.begin(is_aio=True)
        try:
            found = await self._next(self._session)
        except BaseException:
            self._rounds.end()
            raise
        if isinstance(found, Attempt):
            self._attempt = found
            return found
        self._rounds.end()
        raise StopAsyncIteration

    async def _next(self, session: Session) -> Attempt | str:
        attempt, self._attempt = self._attempt, None
        if attempt is not None:
            await session.conclude(attempt)
        return await session.next()

    def __del__(self) -> None:
        if self._session is not None and self._attempt is not None:
            self._session.leave(self._attempt)
            self._rounds.end()
