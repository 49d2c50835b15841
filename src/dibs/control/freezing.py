"""How people reach all the schedules of a fleet, and stop the whole of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from dibs.config import Config
    from dibs.control.schedules import Schedules
    from dibs.control.views import PauseView
    from dibs.jobs.body import Body
    from dibs.jobs.roster import Roster
    from dibs.model.duration import Duration
    from dibs.runtime.engine import Engine


class Freezing:
    """What a client can do to the jobs of its whole namespace."""

    _engine: Engine
    _roster: Roster | None
    config: Config

    @property
    def schedules(self) -> Schedules:
        """All schedules by name: added, changed, removed, looked at, paused, triggered."""
        from dibs.control.schedules import Schedules  # noqa: PLC0415 - here and below: needed by few

        return Schedules(self._engine.detours.for_jobs, self._body_of, ttl=self.config.ttl)

    def freeze(self, until: Duration | datetime | None = None, *, reason: str = "", by: str = "") -> None:
        """Let no node claim anything for so long, until that moment, or until it thaws. What was begun goes on."""
        from dibs.control import verbs  # noqa: PLC0415

        verbs.freeze(until=until, by=by, reason=reason).run(self._engine.detours.for_jobs)

    async def afreeze(self, until: Duration | datetime | None = None, *, reason: str = "", by: str = "") -> None:
        """Let no node claim anything for so long, until that moment, or until it thaws. What was begun goes on."""
        from dibs.control import verbs  # noqa: PLC0415

        await verbs.freeze(until=until, by=by, reason=reason).arun(self._engine.detours.for_jobs)

    def thaw(self, *, reason: str = "", by: str = "") -> None:
        """Let all nodes go on; ticks that came meanwhile are late, and each job says whether it catches up."""
        from dibs.control import verbs  # noqa: PLC0415

        verbs.thaw(by=by, reason=reason).run(self._engine.detours.for_jobs)

    async def athaw(self, *, reason: str = "", by: str = "") -> None:
        """Let all nodes go on; ticks that came meanwhile are late, and each job says whether it catches up."""
        from dibs.control import verbs  # noqa: PLC0415

        await verbs.thaw(by=by, reason=reason).arun(self._engine.detours.for_jobs)

    def frozen(self) -> PauseView | None:
        """Who has frozen the fleet, why, and until when; `None` if nobody has."""
        from dibs.control import verbs  # noqa: PLC0415

        return verbs.frozen().run(self._engine.detours.for_jobs)

    async def afrozen(self) -> PauseView | None:
        """Who has frozen the fleet, why, and until when; `None` if nobody has."""
        from dibs.control import verbs  # noqa: PLC0415

        return await verbs.frozen().arun(self._engine.detours.for_jobs)

    def _body_of(self, function: str) -> Body | None:
        """What does it here, if this process knows it."""
        return None if self._roster is None else self._roster.body_of(function)
