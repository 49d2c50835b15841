"""Jobs whose runs have a process of their own: what is said to it, and what it says."""

from __future__ import annotations

import sys
from importlib import import_module
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from dibs.errors import ConfigError
from dibs.flows.duty import Underway
from dibs.job import Job
from dibs.jobs.performance import perform
from dibs.jobs.runlog import Lines
from dibs.model.rota import Ending
from dibs.model.tenure import Tenure
from dibs.run import Run
from dibs.runtime.apart import Errand, Word, act_apart
from dibs.runtime.clock import boottime
from dibs.runtime.crew import stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import tzinfo

    from dibs.jobs.body import Body
    from dibs.model.job import Run as Begun
    from dibs.model.job import Terms
    from dibs.runtime.crew import Performed


def apart_fault(body: Body) -> str | None:
    """Why a new process could not find this body, as the end of a sentence; `None` if it can."""
    qualname = str(getattr(body.function, "__qualname__", ""))
    if body.about.is_async:
        return "an async def runs on the serving loop; write a plain def for a process"
    if body.is_method:
        return "a new process has no instance of its class; write a function at the top of a module"
    if not qualname or "<" in qualname:
        return "a new process must find it by its name; define it with def at the top of a module"
    if body.module == "__main__" and not hasattr(sys.modules["__main__"], "__file__"):
        return "a new process cannot load what was typed in here; put it into a file"
    return None


def performer(job: Job[Any]) -> Callable[[Underway], Performed]:
    """How runs of this job are done; a `ConfigError` if it cannot be found by its name."""
    module, qualname = job.body.module, str(job.body.function.__qualname__)
    found = _found(module, qualname)
    if not (isinstance(found, Job) and found.body.function is job.body.function):
        raise ConfigError(
            f"process=True for {job.body.about}: {module}.{qualname} is {found!r}, and not this job, but a new process "
            "must find it by its name: leave the decorated function where it was defined"
        )

    def act(mine: Underway) -> Performed:
        told = {"function": mine.function, "arguments": mine.arguments, "policy": mine.policy}
        facts = (module, qualname, job.zone_of(mine), mine.job, mine.run, mine.terms, told)
        return _Play(mine, Errand(play, facts)).outcome()

    return act


class _Play:
    """One run in a process of its own, as its node sees it."""

    def __init__(self, mine: Underway, errand: Errand) -> None:
        self._mine, self._errand, self._lines = mine, errand, Lines()
        self._ending: Performed = None
        self._has_ended = False

    def outcome(self) -> Performed:
        """What came of it."""
        mine, log = self._mine, self._lines
        try:
            code = act_apart(self._errand, mine, self._hear)
        except Exception as error:  # noqa: BLE001 - no more processes, or one that cannot be made: the run's failure
            return Ending("failed", f"no process could be made for it: {error!r}", log=log.kept())
        if self._has_ended:
            return self._ending
        if mine.asked_to_stop:
            return stopped(mine, log=log.kept())
        return Ending("failed", f"its process ended with exit code {code}, before it was done", log=log.kept())

    def _hear(self, word: Word) -> None:
        match word:
            case ("line", str(line)):
                self._lines.add(line)
            case ("progress", share, note):
                self._mine.progress, self._mine.note = share, note
            case ("ended", ending):
                self._ending, self._has_ended = ending, True
            case _:
                pass


def play(say: Callable[[Word], None], module: str, qualname: str, zone: tzinfo, *facts: Any) -> None:
    """In the new process: find the job, call its body, and say what came of it."""
    mine = _Told(say, *facts)
    lines = Lines(heard=lambda line: say(("line", line)))

    def body(run: Run) -> Any:
        job = _found(module, qualname)
        if not isinstance(job, Job):
            raise TypeError(f"{module}.{qualname} is {job!r} in a new process, and no job")
        return job.body.call(run)

    say(("ended", perform(mine, Run(mine, zone=zone, logger=module, lines=lines), body)))


class _Told(Underway):
    """A run whose node is told of its progress. It never knows of a loss: then its process is killed."""

    __slots__ = ("_say",)

    def __init__(
        self, say: Callable[[Word], None], job: str, run: Begun, terms: Terms, told: Mapping[str, Any]
    ) -> None:
        now = boottime()
        super().__init__(job, run, terms, Tenure(inf, now), now, **told)
        self._say = say

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "progress" and hasattr(self, "_say"):
            self._say(("progress", value, self.note))


def _found(module: str, qualname: str) -> object:
    try:
        return attrgetter(qualname)(import_module(module))
    except AttributeError:
        return None
