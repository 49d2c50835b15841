"""Worlds of nodes that run jobs, chosen by seed. `make sim SEED=…` shows one, if its seed is odd."""

from __future__ import annotations

from collections import Counter

import pytest

from dibs.testing.simulation import play_cron
from dibs.testing.simulation.weather import Weather

SEEDS = 160
"""The usual worlds; `make check` plays a thousand of them besides, and `make sim` as many as you like."""
SHARES, USUAL = 8, 1
"""Into so many they are cut, of which `make test` plays the first."""


@pytest.mark.parametrize(
    "share", [*range(USUAL), *(pytest.param(n, marks=pytest.mark.thorough) for n in range(USUAL, SHARES))]
)
def test_no_world_of_jobs_breaks_a_promise(share: int) -> None:
    found = {seed: play_cron(seed).faults for seed in range(share, SEEDS, SHARES)}
    assert not {seed: faults for seed, faults in found.items() if faults}


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(270, id="a run ends while its renewal is under way"),
        pytest.param(2023, id="who leaves has handed back what its body still believes in"),
        pytest.param(494, id="the store forgets that a second attempt was begun"),
        pytest.param(1993, id="the store forgets a run that was handed back before"),
        pytest.param(59, id="the store falls silent right after a claim"),
        pytest.param(84, id="a node whose clock is ahead goes by it"),
        pytest.param(37, id="a run is to be told again to a store that was started anew"),
        pytest.param(1882, id="a store whose clock went back forgets all"),
    ],
)
def test_a_world_that_once_broke_a_promise_does_not(seed: int) -> None:
    assert not play_cron(seed).faults


def test_the_same_seed_is_the_same_world_of_jobs() -> None:
    assert play_cron(7, with_trace=True) == play_cron(7, with_trace=True)


@pytest.mark.thorough
def test_every_kind_of_fault_bites_jobs_somewhere() -> None:
    seen: Counter[str] = Counter()
    for seed in range(60):
        seen.update(play_cron(seed).counts)
    for what in (
        *("begun", "ok", "failed", "timeout", "cancelled", "skipped", "lost", "given up", "interrupted"),
        *("begun without the store", "adopted", "told again"),
        *("restart", "forget", "flush", "jump ahead", "jump back", "stall", "kill", "leave", "fleet down"),
        *("people acted", "people refused", "people unanswered", "people interrupted", "deployed"),
        *("added", "changed", "removed", "retired", "paused", "resumed", "triggered", "skipped next", "backfill"),
        *("frozen", "thawed", "backfills done"),
        *("submitted", "steps acknowledged", "steps done", "steps taken away", "steps thrown away"),
    ):
        assert seen[what] > 0, what


@pytest.mark.parametrize("ttl", [0.5, 1.0, 4.0])
def test_in_calm_weather_nothing_is_lost_but_by_leaving(ttl: float) -> None:
    for seed in range(10):
        found = play_cron(seed, weather=Weather(ttl=ttl))
        assert not found.faults
        assert found.counts["lost"] == found.counts["given up"]
        assert found.counts["begun"] > 0
