"""Worlds in which many set one sheet that a majority of several servers keeps.

Each change adds its own mark to what was read. So whatever anybody reads tells which changes were made before, and in
which order.

S1 what is read and what was made is one line of changes, of which each is a longer piece · S2 who asks later sees no
less · S3 what was refused is never made · S4 what was made is there at the end · S5 the history has what was made, in
its order, and nothing else · S6 a revision stands for one text.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING

from dibs.errors import StoreUnreachable
from dibs.flows.asking import ask
from dibs.flows.sheets import LANDS_WITHIN, look
from dibs.model.names import WORKER
from dibs.model.quorum import majority
from dibs.model.sheet import Change, Entry, Question
from dibs.testing.simulation.quorum.member import Member
from dibs.testing.simulation.quorum.referee import QuorumReferee
from dibs.testing.simulation.quorum.story import Story, drawn
from dibs.testing.simulation.story import Verdicts

if TYPE_CHECKING:
    from dibs.flows.sheets import Reading
    from dibs.model.sheet import Line, Sheet
    from dibs.testing.simulation.weather import Weather

NAME = WORKER + "a"
AT = 1_000.0
"""All is noted for the same moment: so only the servers know what came first."""


def play_registers(seed: int, *, weather: Weather | None = None, with_trace: bool = False) -> Verdicts:
    """Run the world of a seed, in which many change one sheet."""
    random = Random(seed)
    story = RegisterStory(random, weather or drawn(random), [] if with_trace else None)
    return story.told(seed)


class RegisterReferee(QuorumReferee):
    """Knows what was asked for, what was answered, and what everybody has read."""

    has_forgotten = False
    """Whether a server has lost its history."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.line: Sequence[str] = ()
        """The longest piece that anybody knows of."""
        self._made: set[str] = set()
        self._refused: set[str] = set()
        self._texts: dict[int, str] = {}

    def read(self, who: str, sheet: Sheet | None, known: Sequence[str]) -> Sequence[str]:
        """S1, S2, S3, S6: somebody was told this, who asked when so much was known."""
        found = _marks(sheet)
        self.note(who, f"reads {found}")
        self.counts["reads"] += 1
        if sheet is not None and self._texts.setdefault(sheet.revision, sheet.text) != sheet.text:
            self.fault("S6", f"{sheet.revision} is {sheet.text!r}, and was {self._texts[sheet.revision]!r}")
        self._judge(who, found, known)
        return found

    def _judge(self, who: str, found: Sequence[str], known: Sequence[str]) -> None:
        shorter, longer = sorted((found, self.line), key=len)
        if longer[: len(shorter)] != shorter:
            self.fault("S1", f"{who} knows {found}, and somebody else {self.line}")
        if len(found) < len(known):
            self.fault("S2", f"{who} knows {found}, when {known} was known before it asked")
        if lost := self._refused.intersection(found):
            self.fault("S3", f"{who} knows of {lost}, which were refused")
        self.line = longer

    def answered(self, who: str, before: Sequence[str], mark: str, *, is_made: bool, known: Sequence[str]) -> None:
        """One was told whether its change was made."""
        self.note(who, f"{mark} is {'made' if is_made else 'refused'}")
        self.counts["made" if is_made else "refused"] += 1
        if not is_made:
            self._refused.add(mark)
            return
        self._made.add(mark)
        self._judge(who, (*before, mark), known)

    def judge_end(self, found: Sequence[str], lines: Sequence[Line]) -> None:
        """S4, S5: what is left of it all."""
        if lost := self._made.difference(found):
            self.fault("S4", f"{lost} were made, and are not in {found}")
        noted = tuple(line.text for line in reversed(lines))
        if noted != found and not (self.has_forgotten and set(noted) <= set(found)):
            self.fault("S5", f"{noted} is noted, and {found} was made")


class RegisterStory(Story):
    """The cast and the plot."""

    referee: RegisterReferee
    visits = (3, 5, 8)

    def _refereed(self) -> QuorumReferee:
        return RegisterReferee(self._agenda, self._servers, self.trace)

    def run(self) -> None:
        """As with locks; and when all is over, somebody looks at what is left."""
        if self._random.random() < 0.7:
            for server in self._servers:
                server.floor = 0
        super().run()
        auditor = Member("audit", self._servers, self.weather, self._random, tell=self._tell)
        self._heal_one(auditor)
        self._scripts.append((auditor, auditor.spawn(self._audit(auditor))))
        self._agenda.run(self._agenda.now + 60, self._is_over)
        [(_, task)] = self._scripts[-1:]
        if task.error is not None or not task.is_done:
            self.referee.fault("S4", f"nobody can tell what is left: {task.error!r}")
        auditor.end()

    async def _audit(self, member: Member) -> None:
        world, desk = member.world, member.desk
        while True:
            try:
                _, found = await self._read(member)
                lines = await ask(world, desk.store.lines(Question(NAME)), desk.patience)
            except StoreUnreachable:  # one is still stalled
                await world.pause(self.weather.ttl)
                continue
            self.referee.judge_end(found, lines)
            return

    async def _read(self, member: Member) -> tuple[Reading, Sequence[str]]:
        known = self.referee.line
        reading = await look(member.world, member.desk, member.desk.store.sheets([NAME]))
        return reading, self.referee.read(member.name, next(iter(reading.look.sheets), None), known)

    async def _once(self, member: Member) -> None:
        world, desk = member.world, member.desk
        reading, before = await self._read(member)
        if self._random.random() < 0.3:
            await world.pause(self._random.random() * self.weather.ttl)
            return
        mark, known, now = member.token(), self.referee.line, reading.look.now
        revision, text = next((sheet.revision for sheet in reading.look.sheets), 0), " ".join((*before, mark))
        change = Change(NAME, revision, text, None, now, now + LANDS_WITHIN, entries=[Entry(AT, mark)])
        [revision] = await world.ask(desk.store.amend([change]), desk.patience)
        self.referee.answered(member.name, before, mark, is_made=bool(revision), known=known)

    def _strike(self, disaster: str) -> None:
        """Any server may forget, as long as a majority has not."""
        if disaster in ("forget", "flush"):
            whole = [server for server in self._servers if server.floor is not None]
            if len(whole) <= majority(len(self._servers)) or self._has_healed:
                return
            self._forgetful = {self._servers.index(self._random.choice(whole))}
            self.referee.has_forgotten = True
        super()._strike(disaster)


def _marks(sheet: Sheet | None) -> tuple[str, ...]:
    return () if sheet is None else tuple(sheet.text.split())
