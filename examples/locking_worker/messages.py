"""What the primary and its workers tell one another by their pipes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from dibs import Finish


@dataclass(frozen=True, slots=True)
class Terms:
    """What is the same for all workers of a cluster."""

    chance: float
    """That an attempt succeeds."""
    seed: int
    take: float
    """How many seconds an attempt lasts."""
    max_attempts: int
    lock_timeout: float
    ledger: Path


# What the primary says.


@dataclass(frozen=True, slots=True)
class Acquire:
    """Take part in this round."""

    round: int


@dataclass(frozen=True, slots=True)
class Go:
    """All who take part in it have their place, so the work may begin."""

    round: int


# What a worker says.


@dataclass(frozen=True, slots=True)
class InPlace:
    """It has the lock, or stands in the queue for it."""

    round: int


@dataclass(frozen=True, slots=True)
class Tried:
    """One attempt of a round; its times are those of a clock that all processes of a machine share."""

    round: int
    attempt: int
    began_at: float
    ended_at: float
    outcome: Literal["done", "failed", "late"]


@dataclass(frozen=True, slots=True)
class Troubled:
    """The store was silent, or something else went wrong: it tries again."""

    round: int


@dataclass(frozen=True, slots=True)
class Finished:
    """What the round was for this worker."""

    round: int
    finish: Finish


Order: TypeAlias = Acquire | Go
Report: TypeAlias = InPlace | Tried | Troubled | Finished
