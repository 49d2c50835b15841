"""Worlds chosen by seed. A failing seed is the whole bug report: `make sim SEED=…` shows it."""

from __future__ import annotations

from collections import Counter

import pytest

from dibs.testing.simulation import play, play_copies, play_quorum, play_registers
from dibs.testing.simulation.__main__ import main
from dibs.testing.simulation.weather import Weather

SEEDS = 1_000
SHARES, USUAL = 8, 3
"""Into so many they are cut, of which `make test` plays the first."""


@pytest.mark.parametrize(
    "share", [*range(USUAL), *(pytest.param(n, marks=pytest.mark.thorough) for n in range(USUAL, SHARES))]
)
def test_no_world_breaks_a_promise(share: int) -> None:
    found = {seed: play(seed).faults for seed in range(share, SEEDS, SHARES)}
    assert not {seed: faults for seed, faults in found.items() if faults}


def test_no_two_hold_a_majority_of_three_copies() -> None:
    found = {seed: play_copies(seed).faults for seed in range(500)}
    assert not {seed: faults for seed, faults in found.items() if faults}


def test_the_same_seed_is_the_same_world() -> None:
    assert play(7, with_trace=True) == play(7, with_trace=True)


def test_every_kind_of_fault_bites_somewhere() -> None:
    """An attack that never lands proves nothing: stale writes were refused, leases lost, asks unanswered."""
    seen: Counter[str] = Counter()
    for seed in range(400):
        seen.update(play(seed).counts)
    for what in (
        "stale writes refused",
        "lost",
        "unreachable",
        "cancelled",
        "busy",
        "hand-overs",
        "evictions",
        "restart",
        "forget",
        "jump ahead",
        "jump back",
        "stall",
        "terms",
        "terms lost",
        "campaigns stalled",
    ):
        assert seen[what] > 0, what


def test_in_calm_weather_everybody_gets_what_it_asks_for() -> None:
    for seed in range(100):
        found = play(seed, weather=Weather(ttl=1.0))
        assert not found.faults
        assert found.counts["unreachable"] == found.counts["cancelled"] == 0
        entered, grants, busy, needless = (found.counts[what] for what in ("entered", "grants", "busy", "needless"))
        assert entered <= grants <= entered + busy + needless, "what was of no use any more was given back"


def test_a_seed_can_be_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "8"]) == 0
    shown = capsys.readouterr().out
    assert "seed 8: Weather(" in shown
    assert "Acquire(owner=" in shown
    assert shown.endswith("no fault found\n")


def test_worlds_of_odd_seeds_are_of_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "7"]) == 0
    shown = capsys.readouterr().out
    assert "RunBegun(job='a'" in shown
    assert shown.endswith("no fault found\n")


def test_many_seeds_are_summed_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "20", "--first", "100", "--jobs", "1"]) == 0
    shown = capsys.readouterr().out
    assert "20 worlds in" in shown
    assert "0 with a fault" in shown


@pytest.mark.parametrize("first", [0, *(pytest.param(n, marks=pytest.mark.thorough) for n in range(500, 2_000, 500))])
def test_no_world_of_several_servers_breaks_a_promise(first: int) -> None:
    found = {seed: play_quorum(seed).faults for seed in range(first, first + 500)}
    assert not {seed: faults for seed, faults in found.items() if faults}


@pytest.mark.parametrize("seed", [pytest.param(16_314, id="who has the time of all servers wrong is told it")])
def test_a_world_of_several_servers_that_has_shown_a_fault_shows_none(seed: int) -> None:
    assert not play_quorum(seed).faults


def test_every_kind_of_fault_bites_somewhere_among_several_servers() -> None:
    seen: Counter[str] = Counter()
    for seed in range(300):
        seen.update(play_quorum(seed).counts)
    kinds = ("forget", "flush", "restart", "jump ahead", "jump back", "stall", "partition")
    for what in (*kinds, "stale writes refused", "lost", "unreachable", "cancelled", "busy", "writes"):
        assert seen[what] > 0, what


def test_the_same_seed_is_the_same_world_of_several_servers() -> None:
    assert play_quorum(7, with_trace=True) == play_quorum(7, with_trace=True)


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(n, marks=pytest.mark.thorough) for n in range(1_000, 6_000, 1_000))]
)
def test_no_world_in_which_a_majority_sets_a_sheet_breaks_a_promise(first: int) -> None:
    found = {seed: play_registers(seed).faults for seed in range(first, first + 1_000)}
    assert not {seed: faults for seed, faults in found.items() if faults}


def test_every_kind_of_fault_bites_somewhere_where_a_majority_sets_a_sheet() -> None:
    seen: Counter[str] = Counter()
    for seed in range(300):
        seen.update(play_registers(seed).counts)
    kinds = ("forget", "flush", "restart", "jump ahead", "jump back", "stall", "partition")
    for what in (*kinds, "made", "refused", "reads", "unreachable", "cancelled"):
        assert seen[what] > 0, what


def test_in_calm_weather_nearly_all_who_change_a_sheet_are_told_whether_they_did() -> None:
    seen: Counter[str] = Counter()
    for seed in range(100):
        found = play_registers(seed, weather=Weather(ttl=1.0))
        assert not found.faults
        seen.update(found.counts)
    assert seen["unreachable"] < seen["made"] / 100, "but who waits while others make many changes"


def test_a_world_in_which_a_majority_sets_a_sheet_can_be_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    assert play_registers(7, with_trace=True) == play_registers(7, with_trace=True)
    assert main(["--seed", "7", "--registers"]) == 0
    shown = capsys.readouterr().out
    assert "is made" in shown
    assert shown.endswith("no fault found\n")
