"""A step: one piece of work of a job, under an id of its own, that is done once and outlives whoever does it.

It is a sheet beside its job's own, on which is the one run of it: so all that may happen to runs happens to it by the
same rules (`dibs.model.rota`), and thousands of them are begun, retried and forgotten without waiting for each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dibs.model.control import Refused
from dibs.model.job import Job, Run
from dibs.model.names import STEP, name_fault
from dibs.model.record import Act, Outcome
from dibs.model.rota import Step
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.model.control import Word
    from dibs.model.job import Terms

State = Literal["due", "running"] | Outcome


@value
class Submission:
    """What is to be done: which step of which job, on which terms, and with which arguments."""

    job: str
    step: str
    terms: Terms
    arguments: str = ""

    @property
    def sheet(self) -> str:
        """Where it is kept."""
        return sheet_of(self.job, self.step)


def sheet_of(job: str, step: str) -> str:
    """The name of the sheet of that step."""
    return f"{job}{STEP}{step}"


def step_of(sheet: str) -> str | None:
    """The step whose sheet this is; `None` if it is none's."""
    _, is_step, step = sheet.partition(STEP)
    return step if is_step else None


def step_fault(step: object) -> str | None:
    """What is wrong with the id of a step; `None` if it may be used."""
    return name_fault(step, what="a step's id")


def submitted(found: Job | None, said: Submission, word: Word) -> Step | None:
    """The step, if it is new; `None` if it is there, whether or not it has ended. It is never there twice."""
    if found is None:
        run = Run(word.at, source="step", not_before=word.at)
        act = Act("submitted", word.at, word.by, word.reason, version=1, told=said.arguments)
        return Step(_sheet(said, run, word.at), acts=[act])
    if found.arguments != said.arguments:
        raise Refused(f"it is there with other arguments, {found.arguments or '{}'}: give new work an id of its own")
    return None


def _sheet(said: Submission, run: Run, now: float) -> Job:
    return Job(
        said.sheet,
        0,
        1,
        "",
        said.terms,
        None,
        runs=(run,),
        function=said.job,
        arguments=said.arguments,
        origin="data",
        defined_at=now,
    )


def state(job: Job) -> State:
    """How a step stands."""
    if job.running:
        return "running"
    return "due" if job.runs or job.last is None else job.last.outcome
