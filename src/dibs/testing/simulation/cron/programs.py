"""What the code of a world's nodes says: one program, or two of which one is deployed after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from dibs.flows.duty import Duty
from dibs.model.definition import Deployment
from dibs.model.job import Terms
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.model.policy import OnOutageOfJob

PERIODS = (1, 1, 2, 3, 5)


@value
class Program:
    """One version of the code."""

    version: str
    duties: Mapping[str, Duty]

    @property
    def deployment(self) -> Deployment:
        """As the fleet knows it."""
        return Deployment(0.0, {name: duty.definition.digest for name, duty in self.duties.items()})


def draw_program(random: Random, ttl: float) -> Program:
    """Some jobs."""
    is_open = random.random() < 0.2
    duties: dict[str, Duty] = {}
    for name in ["a", "b", "c"][: random.choice((1, 1, 2, 3))]:
        period = random.choice(PERIODS)
        policy: OnOutageOfJob = "open" if is_open and random.random() < 0.7 else "closed"
        duties[name] = Duty(name, f"every {period}s", draw_terms(random, ttl), policy)
    return Program("1", duties)


def draw_terms(random: Random, usual_ttl: float) -> Terms:
    """On which a job is run."""
    ttl = usual_ttl * random.choice((1.0, 1.0, 2.0))
    return Terms(
        overlap=random.choice(("skip", "skip", "queue", "cancel", "allow")),
        catch_up=random.choice(("latest", "latest", "all", "none")),
        most=random.choice((100, 3)),
        grace=random.choice((3600.0, 3600.0, 10.0)),
        retries=random.choice((0, 0, 2)),
        retry_delay=random.uniform(0.1, 2),
        timeout=random.choice((None, None, ttl * random.random() * 2)),
        max_attempts=random.choice((1, 1, 3)),
        ttl=ttl,
    )


def draw_programs(first: Program, random: Random, ttl: float) -> Sequence[Program]:
    """In some worlds there is a second one: another rule for a job, a job that is new, perhaps one that is no more."""
    if random.random() > 0.25:
        return [first]
    duties = dict(first.duties)
    name = random.choice(list(duties))
    duties[name] = replace(duties[name], rule=f"every {random.choice((4, 7))}s", terms=draw_terms(random, ttl))
    if random.random() < 0.7:
        duties["new"] = Duty("new", f"every {random.choice(PERIODS)}s", draw_terms(random, ttl))
    if random.random() < 0.7 and len(duties) > 1:
        del duties[random.choice(list(duties))]
    return [first, Program("2", duties)]
