"""What is said of a schedule, in code or as data, and which of two definitions holds: the one deployed later.

A deployment is a set of definitions that nodes have in common, since the first of them was seen. What was changed as
data after that stays until code says something new: a deployment that repeats what was said takes nothing back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, cast

from dibs.model.control import Refused, Word, ended, left_out
from dibs.model.job import Job
from dibs.model.record import Act
from dibs.model.rota import Step
from dibs.model.spare import sound, spare, written
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.model.job import Terms
    from dibs.model.record import Deed, Record

DIGEST = 8


@value
class Definition:
    """When something is due, on which terms, which function does it, and with which arguments."""

    name: str
    rule: str
    terms: Terms
    function: str = ""
    arguments: str = ""

    @property
    def digest(self) -> str:
        """Tells one from another."""
        told = {**spare(self), "terms": spare(self.terms)}
        return _digest(written(told))


@value
class Deployment:
    """What the nodes of one version of a program have to say."""

    seen_at: float
    """When the first of them came."""
    definitions: Mapping[str, str]
    """The digest of each, by name: all functions that they can do, also those that have no schedule in code."""

    @property
    def digest(self) -> str:
        """Tells one from another, whenever they were seen."""
        return _digest(written(dict(sorted(self.definitions.items()))))

    def text(self) -> str:
        """All of it, for a sheet."""
        return written({"seen_at": self.seen_at, "definitions": dict(self.definitions)})


def deployment_of(told: Mapping[str, Any]) -> Deployment:
    """What is on such a sheet; a `ValueError` says why it cannot be read here."""
    definitions = told["definitions"]
    if not isinstance(definitions, Mapping):
        raise ValueError(f"its definitions cannot be {definitions!r}")
    return sound(Deployment(told["seen_at"], cast("Mapping[str, str]", definitions)))


# In code.


def enrolled(
    found: Job | None, said: Definition, *, ours: Deployment, live: Sequence[Deployment], now: float, by: str
) -> Step | None:
    """What a node does about a schedule that its code defines; `None` if all is as it should be."""
    if found is None:
        new = _defined(Job(said.name, 0, 0, said.rule, said.terms, None), said, now)
        return Step(replace(new, code=said.digest, defined_at=ours.seen_at), acts=[_told("added", new, by, now)])
    if found.code == said.digest and found.gone is None:
        return None
    if is_outdated(found, ours, live):
        return None
    new = replace(_defined(found, said, now), origin="code", code=said.digest, defined_at=ours.seen_at)
    deed: Deed = "changed" if found.gone is None else "added"
    return Step(new, _late(found, new, now), acts=[_told(deed, new, by, now, was=found.rule)])


def is_outdated(found: Job, ours: Deployment, live: Sequence[Deployment]) -> bool:
    """Whether what our code says of it does not hold, as something else was deployed after it, or said as data."""
    if found.origin == "data" and found.gone is None and found.defined_at >= ours.seen_at:
        return True
    rivals = [each for each in live if found.name in each.definitions and each.digest != ours.digest]
    return any((each.seen_at, each.digest) > (ours.seen_at, ours.digest) for each in rivals)


def retired(job: Job, word: Word) -> Step | None:
    """A schedule that no code defines any more; `None` if it was not code that did, or it is gone already."""
    return None if not job.code or job.gone is not None else ended(job, word, "retired")


# As data.


def added(found: Job | None, said: Definition, word: Word) -> Step:
    """A schedule that was not there."""
    if found is not None and found.gone is None:
        raise Refused("there is one of that name already: change it, or name this one otherwise")
    job = replace(found or Job(said.name, 0, 0, said.rule, said.terms, None), pause=None, code="")
    return _by_data(job, said, word, "added")


def changed(job: Job, said: Definition, word: Word) -> Step:
    """A schedule that is otherwise from now on. It stays paused if it is."""
    if job.gone is not None:
        raise Refused(f"it was {job.gone.how}: add it anew")
    return _by_data(job, said, word, "changed")


def definition_of(job: Job) -> Definition:
    """What holds of a schedule."""
    return Definition(job.name, job.rule, job.terms, job.function, job.arguments)


def _by_data(job: Job, said: Definition, word: Word, deed: Deed) -> Step:
    new = replace(_defined(job, said, word.at), origin="data", defined_at=word.at)
    act = replace(_told(deed, new, word.by, word.at, was=job.rule), reason=word.reason)
    return Step(new, _late(job, new, word.at), acts=[act])


def _late(job: Job, new: Job, now: float) -> Sequence[Record]:
    """Ticks of the old version that have come, and were not begun."""
    is_same = job.version == new.version
    return () if is_same else left_out(job, "its schedule was changed before it was begun", now)


def _defined(job: Job, said: Definition, now: float) -> Job:
    """A new or changed rule holds from now on; what it missed, it missed. What was under way is."""
    is_same = job.version > 0 and job.rule == said.rule and job.gone is None
    told = replace(job, rule=said.rule, terms=said.terms, function=said.function, arguments=said.arguments, gone=None)
    if is_same:
        return told
    new = replace(told, version=job.version + 1, mark=job.mark if job.rule == said.rule else 0.0)
    return replace(new, next_due=new.due_from(now))


def _told(deed: Deed, job: Job, by: str, now: float, *, was: str = "") -> Act:
    is_other = deed == "changed" and was != job.rule
    return Act(deed, now, by, version=job.version, told=job.rule, was=was if is_other else "")


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=DIGEST).hexdigest()
