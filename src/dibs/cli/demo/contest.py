"""Four processes that want the same lock, what the primary sees of them, and what comes of it."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dibs import StoreUnreachable, connect
from dibs.cli.demo.crew import NAMES, Crew
from dibs.cli.demo.fate import Fate, probe
from dibs.cli.demo.ledger import Ledger
from dibs.cli.demo.watch import Watch
from dibs.cli.demo.worker import COUNTER, TTL
from dibs.model.duration import spoken
from dibs.runtime.clock import boottime

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from dibs import Dibs, LockView
    from dibs.cli.demo.crew import Member, Place
    from dibs.cli.demo.fate import Strike, Takeover
    from dibs.cli.demo.ledger import Tally

SILENCES = 2
"""So many questions in a row without an answer: the store is out of reach. One may be due to a pause of our own."""
STALL, DEADLOCK = 3 * TTL, 15 * TTL
"""Without a write for so long, we ask whether the store can be written; and for so long, we give up."""
PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class Scene:
    """The contest at one moment, as it is shown."""

    elapsed: float
    locks: Mapping[str, LockView]
    tally: Tally
    crew: Sequence[Member]
    strike: Strike | None
    takeovers: int
    news: Sequence[str]


@dataclass(frozen=True, slots=True)
class Result:
    """What there is to say when it is over."""

    elapsed: float
    tally: Tally
    takeovers: Sequence[Takeover]
    due: int
    missed: int
    slept_through: int
    troubles: Sequence[str]

    def faults(self) -> list[str]:
        """All that speaks against the lock, or against the demo, in words; nothing if all was well."""
        missed = [f"seconds whose job nobody did: {self.missed} of {self.due}"] if self.missed else []
        return [*self.tally.faults(), *missed, *self.troubles]


@contextmanager
def contest(place: Place) -> Generator[Contest]:
    """Start one. A store that cannot be reached is told of first; and no process outlives the block."""
    with connect(place.url, namespace=place.namespace, quiet=True) as client:
        client.inspect(COUNTER)
        with Ledger.create(place.ledger, NAMES) as ledger, Crew(place) as crew:
            yield Contest(client, ledger, crew)


class Contest:
    """What the primary does while the workers work."""

    def __init__(self, client: Dibs, ledger: Ledger, crew: Crew) -> None:
        self.troubles: list[str] = []
        self._client, self._ledger, self._crew = client, ledger, crew
        self._watch = Watch(boottime(), time.time())
        self._fate = Fate(client, ledger, crew, self._tell)
        self._locks: Mapping[str, LockView] = {}
        self._news: list[str] = []
        self._silences = 0
        self._tally, self._written_at = ledger.tally(), 0.0

    @property
    def elapsed(self) -> float:
        """The seconds that count, as of the last look."""
        return self._watch.elapsed

    def has_begun(self) -> bool:
        """Whether all workers have come. The time counts from then on."""
        if len(self._ledger.present()) < len(NAMES):
            self._see_deaths()
            return False
        self._watch = Watch(boottime(), time.time())
        for member in self._crew.members:
            self._tell(f"{member.name} (by {member.face!r}) is process {member.pid}")
        return True

    def look(self) -> None:
        """See what has happened since the last look, and put right what can be."""
        self._watch.look(boottime(), time.time())
        self._fate.see(self._watch)
        self._see_deaths()
        self._see_locks()
        self._see_writes()

    def strike(self) -> bool:
        """Let the holder of the lock die, or be paused; false if nobody could be caught."""
        return self._fate.strike(self._watch)

    def freeze(self) -> None:
        """Let everybody stand still."""
        self._crew.freeze()

    def thaw(self) -> None:
        """Let everybody go on."""
        self._crew.thaw()

    def scene(self) -> Scene:
        """What there is to see."""
        fate, crew = self._fate, self._crew.members
        return Scene(self.elapsed, self._locks, self._tally, crew, fate.pending, len(fate.takeovers), self._news)

    def end(self) -> Result:
        """Let everybody finish what it is at, and count."""
        self._watch.look(boottime(), time.time())
        self._crew.dismiss()
        self._see_failures()
        watch, done = self._watch, self._ledger.ticks(self._watch.first_due)
        return Result(
            self.elapsed,
            self._ledger.tally(),
            self._fate.takeovers,
            due=len(watch.due),
            missed=len(watch.due - done),
            slept_through=watch.slept_through,
            troubles=self.troubles,
        )

    def _tell(self, news: str) -> None:
        self._news.append(f"{self.elapsed:.1f}s: {news}")

    def _see_deaths(self) -> None:
        """Whoever was killed by somebody else is started again, as those are whom fate has killed."""
        struck = "" if self._fate.pending is None else self._fate.pending.worker
        for member in self._crew.members:
            if member.was_killed() and member.name != struck:
                member.start()
                self._tell(f"{member.name} was killed by somebody else; starts again as process {member.pid}")
        self._see_failures()

    def _see_failures(self) -> None:
        failed = [member for member in self._crew.members if member.exit_code() and not member.was_killed()]
        found = [f"{member.name} failed: {member.complaint()}" for member in failed]
        self.troubles += [trouble for trouble in found if trouble not in self.troubles]

    def _see_locks(self) -> None:
        try:
            self._locks, self._silences = {lock.name: lock for lock in self._client.locks()}, 0
        except StoreUnreachable as silence:
            self._locks, self._silences = {}, self._silences + 1
            self._tell(str(silence))
            if self._silences == SILENCES:
                raise

    def _see_writes(self) -> None:
        """If there are none for long, it is the store that cannot be written, or the lock that is lost."""
        before, self._tally = self._tally, self._ledger.tally()
        if self._tally.writes > before.writes:
            self._written_at = self.elapsed
        if self.elapsed - self._written_at > STALL:
            probe(self._client, within=PATIENCE)
        if self.elapsed - self._written_at > DEADLOCK:
            self.troubles.append(f"nobody has got the lock for {spoken(DEADLOCK)}, though the store answers")
