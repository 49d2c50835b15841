"""What people may say of a job beside its times, and whether it makes sense."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypedDict, cast, get_args

from dibs.errors import ConfigError
from dibs.model.duration import Duration, seconds, spoken
from dibs.model.job import CatchUp, Overlap, Terms
from dibs.model.labels import labels_of
from dibs.model.policy import OnOutage
from dibs.model.request import LONGEST_TTL
from dibs.model.rota import LONGEST_PAUSE
from dibs.model.ticks import MOST_TOLD
from dibs.options import yes_or_no

if TYPE_CHECKING:
    from dibs.model.policy import OnOutageOfJob

SHORTEST_TTL = 1.0
DAY, YEAR = 86_400.0, 366 * 86_400.0
MOST_TRIES = 1_000
MOST_KEPT = 100_000


class RunTerms(TypedDict, total=False):
    """What can be said of a job's runs, in code and as data."""

    jitter: Duration
    """By how much each run is put off at the most, the same on every node, so that not everything begins at once."""
    overlap: Overlap
    """What a tick does whose predecessor is still at work: "skip" it, "queue" one, "cancel" the old one, or "allow"."""
    catch_up: CatchUp
    """Which ticks are run that nobody was there for: the "latest", "all" of them, or "none"."""
    catch_up_limit: int
    """So many at the most, where all are (default 100)."""
    grace: Duration
    """How late a tick may be begun (default 1 h)."""
    retries: int
    """How often a run that failed or took too long is tried again (default 0)."""
    retry_delay: Duration
    """How long after it failed, the first time; twice as long each further time (default 1 s)."""
    timeout: Duration | None
    """How long a run may take before it is asked to stop."""
    expect: Duration | None
    """How long it should take: that it takes longer is an event."""
    max_attempts: int
    """How often a run is begun whose node may have died in the middle of it (default 1: at most once)."""
    ttl: Duration
    """How soon others may go on for a node that has died without a word (default 30 s)."""
    on_outage: OnOutage | None
    """While the store is silent: wait ("closed"), go by the node's own clock ("open"), or once a machine ("local")."""
    keep: int
    """How many lines of its history are kept (default 1000)."""
    keep_for: Duration
    """And for how long (default 30 days)."""
    labels: str | Iterable[str]
    """It is run only by nodes that have all of these (default none)."""


class JobTerms(RunTerms, total=False):
    """The keywords that every job takes."""

    name: str | None
    """What the job is called in the whole fleet; the function's own name, if it is left out."""
    process: bool
    """Whether each run has a process of its own, which is killed when it is to stop."""


def checked_terms(said: RunTerms, *, ttl: float) -> Terms:
    """The terms, checked; a `ConfigError` names the value that is wrong and what would be right."""
    usual, read = Terms(), _Reader(cast("Mapping[str, object]", said))
    return Terms(
        overlap=cast("Overlap", read.word("overlap", usual.overlap, get_args(Overlap))),
        catch_up=cast("CatchUp", read.word("catch_up", usual.catch_up, get_args(CatchUp))),
        most=read.count("catch_up_limit", usual.most, 1, MOST_TOLD),
        grace=read.duration("grace", usual.grace, 0.0, YEAR),
        retries=read.count("retries", usual.retries, 0, MOST_TRIES),
        retry_delay=read.duration("retry_delay", usual.retry_delay, 0.0, LONGEST_PAUSE),
        timeout=read.perhaps("timeout", 0.1, YEAR),
        expect=read.perhaps("expect", 0.1, YEAR),
        max_attempts=read.count("max_attempts", usual.max_attempts, 1, MOST_TRIES),
        ttl=read.duration("ttl", max(ttl, SHORTEST_TTL), SHORTEST_TTL, LONGEST_TTL),
        keep=read.count("keep", usual.keep, 1, MOST_KEPT),
        keep_for=read.duration("keep_for", usual.keep_for, 60.0, 10 * YEAR),
        labels=checked_labels(said.get("labels", usual.labels)),
    )


def checked_labels(labels: object) -> tuple[str, ...]:
    """The labels that a job asks for, or a node has."""
    try:
        return labels_of(labels)
    except ValueError as fault:
        raise ConfigError(f"labels={labels!r}: {fault}") from None


def checked_policy(said: JobTerms, *, usual: OnOutageOfJob) -> OnOutageOfJob:
    """What is done while the store is silent; what can only be said of a call is the same as waiting for it."""
    on_outage: object = said.get("on_outage")
    if on_outage is None:
        return "closed" if usual == "skip" else usual
    return cast("OnOutageOfJob", _Reader({"on_outage": on_outage}).word("on_outage", "", get_args(OnOutage)))


def refuse_unknown(said: Mapping[str, object], *, beside: frozenset[str]) -> None:
    """Refuse a keyword that no job has."""
    known = JobTerms.__annotations__.keys() | beside
    if unknown := sorted(said.keys() - known):
        raise ConfigError(f"no such option of a job: {', '.join(unknown)}; there are {', '.join(sorted(known))}")


def checked_process(said: JobTerms) -> bool:
    """Whether each run has a process of its own."""
    return yes_or_no("process", said.get("process", False))


class _Reader:
    """Reads what was said of each, or gives what is usual."""

    def __init__(self, said: Mapping[str, object]) -> None:
        self._said = said

    def word(self, option: str, usual: str, known: tuple[str, ...]) -> str:
        value = self._said.get(option, usual)
        if not isinstance(value, str) or value not in known:
            raise ConfigError(f"{option}={value!r}: say one of {', '.join(map(repr, known))}")
        return value

    def count(self, option: str, usual: int, least: int, most: int) -> int:
        value = self._said.get(option, usual)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ConfigError(f"{option}={value!r}: give a whole number from {least} to {most}")
        return value

    def duration(self, option: str, usual: float, least: float, most: float) -> float:
        value = self._said.get(option, usual)
        try:
            duration = seconds(value)
        except ValueError as fault:
            raise ConfigError(f"{option}: {fault}") from None
        if not least <= duration <= most:
            raise ConfigError(f"{option}={value!r} is out of range; it goes from {spoken(least)} to {spoken(most)}")
        return duration

    def perhaps(self, option: str, least: float, most: float) -> float | None:
        return None if self._said.get(option) is None else self.duration(option, 0.0, least, most)
