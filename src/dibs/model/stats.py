"""Locks in numbers: how often they were had, refused, waited for, held and lost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dibs.model.counts import IN_MS, Count
from dibs.model.duration import spoken

if TYPE_CHECKING:
    from dibs.model.counts import What


@dataclass(frozen=True, slots=True)
class Spells:
    """So many times, and for so many seconds in all of them together."""

    times: int = 0
    seconds: float = 0.0

    @property
    def mean(self) -> float:
        """How many seconds it was each time; 0 if it never was."""
        return self.seconds / self.times if self.times else 0.0

    def __str__(self) -> str:
        return f"{self.times} (mean {spoken(self.mean)})" if self.times else "0"


@dataclass(frozen=True, slots=True)
class LockStats:
    """What happened to one lock, or to all of them, since counting began. All of it only ever grows."""

    name: str = ""
    acquired: int = 0
    refused: int = 0
    """So many did not get it: somebody else had it for as long as they were to wait."""
    waited: Spells = Spells()
    """Of both, those who had to stand in the queue, and how long they stood there."""
    held: Spells = Spells()
    """The leases that were given back, and how long they were held until then."""
    renewed: int = 0
    lost: int = 0
    """So many holders could not rely on it any more."""
    broken: int = 0
    """So often it was taken from its holder by force."""
    policy_uses: int = 0
    """So often it was done without while the store was silent, as `on_outage` says."""

    def __str__(self) -> str:
        return (
            f"acquired {self.acquired}, refused {self.refused}, waited {self.waited}, held {self.held}, "
            f"renewed {self.renewed}, lost {self.lost}, broken {self.broken}, policy uses {self.policy_uses}"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Stats(Mapping[str, LockStats]):
    """What was counted, by the lock's name; `"(others)"` are those beyond the first thousand."""

    total: LockStats
    by_name: Mapping[str, LockStats]
    at: float
    """When it was read, in epoch seconds of the store's clock: two readings make a rate."""

    def __getitem__(self, name: str) -> LockStats:
        return self.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)

    def __repr__(self) -> str:
        return f"<Stats of {len(self)} locks: {self.total}>"


def read(counts: Sequence[Count], at: float) -> Stats:
    """What the store has counted, as of that moment of its clock."""
    counted = defaultdict[str, Counter[str]](Counter)
    for count in counts:
        counted[count.name][count.what] += count.by
    return summed(counted, at)


def summed(counted: Mapping[str, Counter[str]], at: float) -> Stats:
    """What was counted by name, and all of it together."""
    total = Counter[str]()
    for sums in counted.values():
        total.update(sums)
    return Stats(_of("", total), {name: _of(name, counted[name]) for name in sorted(counted)}, at)


def _of(name: str, sums: Counter[str]) -> LockStats:
    def times(what: What) -> int:
        return sums[what]

    def spells(what: What) -> Spells:
        return Spells(sums[what], sums[what + IN_MS] / 1000)

    return LockStats(
        name,
        times("acquired"),
        times("refused"),
        spells("waited"),
        spells("held"),
        times("renewed"),
        times("lost"),
        times("broken"),
        times("policy_uses"),
    )
