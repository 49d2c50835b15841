"""How a worker goes through a round: it waits for the lock, tries, and watches the others try, until it is over."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeVar

from dibs import events
from dibs.errors import ConfigError, DibsError, StoreUnreachable
from dibs.flows import journal, locking
from dibs.flows.hold import Hold
from dibs.flows.locking import Denied
from dibs.flows.sheets import Reading, change, forget_due, look
from dibs.model import rounds
from dibs.model.backoff import backoff
from dibs.model.job import Job
from dibs.model.names import WORKER
from dibs.model.reading import job_of
from dibs.model.record import Record
from dibs.model.rounds import Aim, Finish, StatusLevel
from dibs.model.sheet import Question
from dibs.model.tenure import Verdict
from dibs.model.value import value
from dibs.ports.store import UnorderedStore

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.model.job import Run
    from dibs.model.rota import Ending, Step
    from dibs.ports.world import World

T = TypeVar("T")

SOME = 20
"""So much of what is due is looked at by one that has done its work."""
DONE = "Work completed successfully by primary process, deleting lock"
GONE = "Lock key is gone, someone else completed the work and deleted the lock"


class Audience(Protocol):
    """Who is told what a worker meets."""

    async def locked(self) -> None:
        """Another one has the lock."""
        ...

    async def status(self, level: StatusLevel, message: str) -> None:
        """Something has happened on the way."""
        ...


Stand = Callable[[Callable[[], Awaitable[None]]], Awaitable[Hold | Denied]]
"""Stand in the lock's queue, once; who has to wait in it is told by a call of what is given."""


@value
class Turn:
    """An attempt that is ours, with the lock under which it is made."""

    hold: Hold
    round: int
    attempt: int
    is_last: bool
    run: Run


class Watch:
    """One worker in one round."""

    _aim: Aim | None = None
    _was_locked = False

    def __init__(self, world: World, desk: Desk, key: str, audience: Audience, *, max_attempts: int) -> None:
        self._world, self._desk, self._audience = world, desk, audience
        self._key, self._max_attempts, self._sheet = key, max_attempts, rounds.sheet_of(key)

    async def next(self, stand: Stand) -> Turn | Finish:
        """The next attempt, once it is ours; or how the round ended, if it did before."""
        if self._aim is None:
            self._aim = rounds.aim((await self._read())[1])
        while (found := await self._tried(await self._stood(stand), self._aim)) is None:
            pass
        return found

    async def settle(self, turn: Turn, ending: Ending) -> bool:
        """Tell what came of an attempt, and then let the next one have the lock; whether it counts.

        While the lease lasts, a silent store is told again and again.
        """
        counts = await self._safely(turn.hold, self._insist(turn, ending))
        await self._release(turn.hold)
        self._aim = Aim(turn.round, turn.attempt)
        if ending.outcome == "ok":
            await self._clear_up()
        elif not turn.is_last and isinstance(self._desk.store, UnorderedStore):
            await self._world.pause(self._desk.store.head_start)
        return counts

    # The way to an attempt.

    async def _tried(self, hold: Hold, aim: Aim) -> Turn | Finish | None:
        """What comes of having the lock; it is kept for an attempt alone. `None` if it was lost on the way to one."""
        found = await self._safely(hold, self._begin(hold, aim))
        if not isinstance(found, Turn):
            await self._release(hold)
        return found

    async def _stood(self, stand: Stand) -> Hold:
        tries = 0
        while not isinstance(taken := await stand(self._queued), Hold):  # the queue is full
            await self._world.pause(backoff(tries, self._world.token()))
            tries += 1
        return taken

    async def _queued(self) -> None:
        if not self._was_locked:
            self._was_locked = True
            await self._audience.locked()

    async def _begin(self, hold: Hold, aim: Aim) -> Turn | Finish | None:
        """Under the lock: find out how the round stands, and begin its next attempt."""
        while True:
            reading, job = await self._read()
            if job is not None and rounds.is_over(job, aim):
                return await self._found_over(reading, job, aim)
            if self._is_lost(hold):  # what is under way may be our successor's, and no dead one's
                return None
            now = reading.look.now
            known = rounds.entered(job, aim, key=self._key, max_attempts=self._max_attempts, now=now)
            if (run := known.run_of(hold.owner)) is not None:  # we had begun it, and did not hear so
                return self._turn(hold, known, run)
            made = rounds.attempts(known)
            step = rounds.begun(known, now=now, owner=hold.owner, node=self._desk.who, fence=hold.fence)
            if not await self._begins(hold, reading, step):
                continue
            self._tell_buried(step)
            if step.begun is None:
                await self._check(aim, made)
                return await self._given_up(known)
            if made:
                await self._check(aim, made)
                await self._reacquired(made)
            return self._turn(hold, step.job, step.begun)

    async def _begins(self, hold: Hold, reading: Reading, step: Step) -> bool:
        """Whether it has begun, as far as we were told: of what was not answered, the sheet will tell."""
        try:
            return await self._taken(reading, step)
        except StoreUnreachable:
            if self._is_lost(hold):
                raise
            return False

    def _turn(self, hold: Hold, job: Job, run: Run) -> Turn:
        self._desk.tell(events.RunBegun(self._key, run.tick, run.attempt, hold.fence, run.started_at - run.tick))
        return Turn(hold, job.version, run.attempt, run.attempt >= job.terms.max_attempts, run)

    async def _found_over(self, reading: Reading, job: Job, aim: Aim) -> Finish:
        await self._check(aim, 0)
        if job.version > aim.round:
            ended = await self._look_up(lambda record: record.version == aim.round and record.is_last)
            if ended is not None and ended.outcome != "ok":
                return await self._given_up(job)
            await self._say(StatusLevel.NORMAL, GONE)
            return "completed"
        if rounds.finish(job) == "max-attempts":
            return await self._given_up(job)
        is_first = job.gone is None
        with suppress(StoreUnreachable):  # the work is done, whoever hears that we have seen it
            is_first = is_first and await self._taken(reading, rounds.seen(job, now=reading.look.now))
        await self._say(StatusLevel.NORMAL, DONE if is_first else GONE)
        return "completed"

    async def _given_up(self, job: Job) -> Finish:
        most = job.terms.max_attempts
        await self._say(StatusLevel.NORMAL, f"Work was not completed in {most} attempts, giving up")
        return "max-attempts"

    # What is said on it.

    async def _check(self, aim: Aim, made: int) -> None:
        """We had waited for an attempt to end, and perhaps there was another one since."""
        expected = aim.attempt or 1
        await self._say(StatusLevel.VERBOSE, f"Checking status of work from attempt #{expected}")
        if made > expected:
            but = (
                f"Attempt count has been incremented (expected {expected}, but it's {made}), someone else got the lock"
            )
            await self._say(StatusLevel.VERBOSE, but)
            await self._say(StatusLevel.VERBOSE, f"Checking status of work from attempt #{made}")

    async def _reacquired(self, made: int) -> None:
        await self._say(StatusLevel.NORMAL, f"Work was not completed, trying to reacquire lock for attempt #{made}")
        await self._say(StatusLevel.VERBOSE, "Trying to reacquire lock")
        await self._say(StatusLevel.VERBOSE, f"Current attempt count: {made}")
        await self._say(StatusLevel.NORMAL, f"This is attempt #{made + 1}")

    async def _say(self, level: StatusLevel, message: str) -> None:
        await self._audience.status(level, message)

    def _tell_buried(self, step: Step) -> None:
        for each in step.records:
            self._desk.tell(events.RunBuried(self._key, each.tick, each.attempt, each.node, each.is_last))

    # The end of one.

    async def _insist(self, turn: Turn, ending: Ending) -> bool:
        tries = 0
        while True:
            try:
                return await self._told(turn, ending)
            except StoreUnreachable:
                if self._is_lost(turn.hold):
                    raise
            await self._world.pause(backoff(tries, turn.hold.owner))
            tries += 1

    async def _told(self, turn: Turn, ending: Ending) -> bool:
        while True:
            reading, job = await self._read()
            step = None if job is None else rounds.settled(job, turn.hold.owner, ending, now=reading.look.now)
            if step is None:
                return await self._was_told(turn, ending)
            if await self._taken(reading, step):
                [record] = step.records
                self._tell_ended(record)
                return True

    async def _was_told(self, turn: Turn, ending: Ending) -> bool:
        """It is not ours any more: another one took it for dead, or what we said was heard, and the answer was not."""
        mine = (turn.round, turn.attempt, turn.hold.fence)
        record = await self._look_up(lambda each: (each.version, each.attempt, each.fence) == mine)
        if record is None or record.outcome != ending.outcome:
            return False
        self._tell_ended(record)
        return True

    def _tell_ended(self, record: Record) -> None:
        self._desk.tell(
            events.RunEnded(
                self._key,
                record.tick,
                record.attempt,
                record.outcome,
                record.reason,
                record.duration,
                record.is_last,
            )
        )

    # The lock.

    async def _safely(self, hold: Hold, doing: Awaitable[T]) -> T:
        """Do something under the lock, and give it back if that fails."""
        try:
            return await doing
        except GeneratorExit:  # this is no place to talk to a store: the keeper will
            raise
        except BaseException:
            await self._release(hold)
            raise

    async def _release(self, hold: Hold) -> None:
        with suppress(DibsError):  # it is given back in any case: the keeper sees to it
            await locking.release(self._world, self._desk, hold)

    def _is_lost(self, hold: Hold) -> bool:
        return hold.check(self._world.now()) is Verdict.LOST

    # The sheet.

    async def _read(self) -> tuple[Reading, Job | None]:
        reading = await look(self._world, self._desk, self._desk.store.sheets([self._sheet]))
        try:
            return reading, job_of(reading.look.sheets[0]) if reading.look.sheets else None
        except ValueError as why:
            raise ConfigError(f"what is known of the work under {self._key!r} cannot be read: {why}") from None

    async def _taken(self, reading: Reading, step: Step) -> bool:
        """Whether the store took the step, as nobody was faster. Nobody but workers has to look at such a sheet."""
        desk, now = self._desk, reading.look.now
        over_at, entries = now + step.job.terms.keep_for, rounds.entries(step)
        asked = replace(change(step, now, seen=desk.seen_fence), acts_at=over_at, entries=entries)
        [revision] = await self._world.ask(desk.store.amend([asked]), desk.patience)
        desk.seen_fence = max(desk.seen_fence, revision)
        return bool(revision)

    async def _clear_up(self) -> None:
        """Forget work that nobody came back to while its history lasted: where no node serves, nobody else can."""
        with suppress(StoreUnreachable):
            await forget_due(self._world, self._desk, WORKER, SOME)

    async def _look_up(self, fits: Callable[[Record], bool]) -> Record | None:
        found = await journal.found(self._world, self._desk, Question(self._sheet, limit=1), Record, fits=fits)
        return found.lines[0][1] if found.lines else None
