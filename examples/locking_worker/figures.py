"""What came of all rounds, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from examples.locking_worker.messages import Tried
from examples.locking_worker.primary import Round


def takeovers(tried: Sequence[Tried]) -> Iterator[float]:
    """How many seconds passed from each failure until the next worker had the lock."""
    for before, after in pairwise(sorted(tried, key=lambda each: each.attempt)):
        if before.outcome == "failed" and after.attempt == before.attempt + 1:
            yield after.began_at - before.ended_at


def percentile(values: Sequence[float], share: float) -> float:
    """The value that so many of them do not exceed."""
    return sorted(values)[max(round(share * len(values)) - 1, 0)]


def summary(rounds: Sequence[Round], counted: Counter[str]) -> Iterator[str]:
    """The last lines of the program; what was counted are the entries of its ledger."""
    done = sum(each.is_done for each in rounds)
    yield f"Rounds: {len(rounds)}, of them {done} done and {len(rounds) - done} out of attempts"
    lost = counted["begun"] - counted["failed"] - counted["done"]
    yield f"Attempts: {counted['begun']}, of them {counted['done']} done, {counted['failed']} failed and {lost} lost"
    if spans := [1000 * span for each in rounds for span in takeovers(each.tried)]:
        p50, p99 = percentile(spans, 0.5), percentile(spans, 0.99)
        yield f"Taken over after a failed attempt: p50 {p50:.1f} ms, p99 {p99:.1f} ms, of {len(spans)}"
