"""One worker in one round, in either colour: of what it awaits, nothing suspends in a blocking world."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dibs.errors import DibsError, LeaseLost, StoreUnreachable
from dibs.flows import locking
from dibs.flows.working import Turn, Watch
from dibs.jobs.performance import MOST_REASON, told
from dibs.lease import Bearer, Lease
from dibs.model.backoff import backoff
from dibs.model.bounded import bounded
from dibs.model.rota import Ending
from dibs.model.value import value
from dibs.runtime import inside
from dibs.runtime.blocking import run
from dibs.worker.attempt import UNSAID, Attempt

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dibs.flows.hold import Hold
    from dibs.flows.locking import Denied
    from dibs.model.request import Request
    from dibs.model.rounds import Finish
    from dibs.runtime.aio import Body
    from dibs.runtime.detour import Way
    from dibs.runtime.engine import Engine
    from dibs.worker.handlers import Handlers

DOING = "wait for work"
OVERTAKEN = "another attempt had begun before it ended"


@value
class Rules:
    """What a worker stands ready for."""

    engine: Engine
    wish: Request
    max_attempts: int


class Session:
    """From the wish to work to the end of the round."""

    finish: Finish | None = None
    attempt: Attempt | None = None

    def __init__(self, rules: Rules, handlers: Handlers, world: Way, body: Callable[[], Body] | None) -> None:
        self._rules, self._handlers, self._world, self._body = rules, handlers, world, body
        self._desk, self._bearer = rules.engine.desk, Bearer()
        self._watch = Watch(world, self._desk, rules.wish.name, handlers, max_attempts=rules.max_attempts)

    async def work(self) -> Finish:
        """Call the handlers for each attempt that is ours, until the round is over."""
        while isinstance(found := await self.next(), Attempt):
            await self._perform(found)
        return found

    async def next(self) -> Attempt | Finish:
        """The next attempt that is ours; or how the round ended. An outage is told, and waited out."""
        tries = 0
        while self.finish is None:
            try:
                found = await self._watch.next(self._stand)
            except StoreUnreachable as silence:
                await self._handlers.error(silence)
                await self._world.pause(backoff(tries, self._world.token()))
                tries += 1
                continue
            if isinstance(found, Turn):
                return self._begun(found)
            await self._over(found)
        return self.finish

    async def conclude(self, attempt: Attempt) -> None:
        """The body of a loop has ended."""
        await self._word(attempt)
        await self.end(attempt)

    async def end(self, attempt: Attempt, error: BaseException | None = None) -> None:
        """Tell what came of it; its own error, or the loss of its lease, is told last."""
        ending, turn = attempt.close(_failed(error)), attempt.turn
        if self._is_inherited:
            inside.leave()
            raise error or turn.hold.loss() or self._overtaken(turn)
        trouble, counts = error, False
        try:
            counts = await self._watch.settle(turn, ending)
        except StoreUnreachable as silence:
            trouble = trouble or silence
        finally:
            inside.leave()
        is_done = counts and ending.outcome == "ok"
        if trouble is None and not is_done:
            trouble = turn.hold.loss() or (None if counts else self._overtaken(turn))
        await self._told(trouble, finish="done" if is_done else "max-attempts" if counts and turn.is_last else None)

    def leave(self, attempt: Attempt) -> None:
        """A loop was left in this attempt. The garbage collector may call this: the engine does the rest."""
        engine, wish, ending = self._rules.engine, self._rules.wish, attempt.close(_failed(None))
        if not engine.serves(self._desk):  # closed, or forked: others will count it as lost
            return
        watch = Watch(engine.blocking(DOING), self._desk, wish.name, self._handlers, max_attempts=1)

        def settle() -> None:
            with suppress(DibsError):
                run(watch.settle(attempt.turn, ending))

        engine.see_off(settle)

    @property
    def _is_inherited(self) -> bool:
        """Whether this process was forked in the attempt: it is the parent's, and nothing of it is ours to tell."""
        return self._desk is not self._rules.engine.desk

    async def _told(self, trouble: BaseException | None, finish: Finish | None) -> None:
        try:
            if isinstance(trouble, Exception):
                await self._handlers.error(trouble)
            elif trouble is not None:
                raise trouble
        finally:
            if finish is not None:
                await self._over(finish)

    async def _over(self, finish: Finish) -> None:
        self.finish = finish
        if finish == "max-attempts":
            await self._handlers.max_attempts()

    async def _stand(self, queued: Callable[[], Awaitable[None]]) -> Hold | Denied:
        wish, desk, me = self._rules.wish, self._desk, inside.actor()
        self._bearer = Bearer()
        here = inside.holds_here(desk, wish.name, me)
        return await locking.acquire(self._world, desk, wish, inside=here, bearer=self._bearer, queued=queued)

    def _begun(self, turn: Turn) -> Attempt:
        attempt = self.attempt = Attempt(Lease(self._rules.engine, turn.hold, self._bearer), turn)
        turn.hold.watch([attempt.ring])
        inside.enter(self._desk, turn.hold, inside.actor())
        return attempt

    async def _perform(self, attempt: Attempt) -> None:
        error: BaseException | None = None
        body = None if self._body is None else self._body()
        if body is not None:
            attempt.turn.hold.watch([body.stop, attempt.ring])
        try:
            attempt.lease.ensure()
            await self._handlers.acquired(last_attempt=attempt.is_last)
            await self._word(attempt)
        except GeneratorExit:  # thrown away: the keeper gives the lock back, and the next one counts it as lost
            raise
        except BaseException as raised:  # noqa: BLE001 - `end` raises it again, or tells it
            error = raised
        if body is not None and (loss := body.leave(error)) is not None:
            error = loss
        await self.end(attempt, error)

    async def _word(self, attempt: Attempt) -> None:
        if self._body is None:
            attempt.wait()
        else:
            await attempt.await_it()

    def _overtaken(self, turn: Turn) -> LeaseLost:
        return LeaseLost(turn.hold.name, fence=turn.hold.fence, reason=OVERTAKEN)


def _failed(error: BaseException | None) -> Ending:
    if error is None:
        return Ending("failed", UNSAID)
    text = told(error)
    return Ending("failed", bounded(text.partition("\n")[0], MOST_REASON), error=text)
