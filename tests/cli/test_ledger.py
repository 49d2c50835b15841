"""The proof of the demo: the ledger must see what a bad lock would do."""

import subprocess
import sys

from dibs.cli.demo.ledger import Ledger, jain

EACH_ITS_OWN_LOCK = """
from dibs.cli import main
from dibs.cli.demo.contest import Contest
Contest._lock = lambda contest, worker: contest._client.lock(worker)
raise SystemExit(main(["demo", "--seconds", "1"]))
"""


def test_one_after_the_other_is_well() -> None:
    ledger = Ledger(["a", "b"])
    for worker, fence in (("a", 1), ("b", 2), ("b", 5)):
        seen = ledger.enter(fence)
        assert seen is not None
        ledger.leave(worker, seen + 1)
    assert (ledger.writes, ledger.value, ledger.handovers, ledger.turns) == (3, 3, 2, {"a": 1, "b": 2})
    assert ledger.faults() == []


def test_a_fence_below_the_newest_is_refused() -> None:
    ledger = Ledger(["a"])
    assert ledger.enter(7) == 0
    assert ledger.enter(6) is None
    ledger.leave("a", 1)
    assert (ledger.refused, ledger.overlaps, ledger.faults()) == (1, 0, [])


def test_two_inside_at_once_are_noticed_and_so_is_the_write_that_is_lost() -> None:
    ledger = Ledger(["a", "b"])
    assert ledger.enter(1) == ledger.enter(2) == 0
    ledger.leave("a", 1)
    ledger.leave("b", 1)
    assert ledger.faults() == ["times that somebody else was inside already: 1", "writes that were lost: 1 of 2"]


def test_a_fence_that_does_not_rise_is_a_fault() -> None:
    ledger = Ledger(["a"])
    for _ in range(2):
        ledger.leave("a", (ledger.enter(1) or 0) + 1)
    assert ledger.faults() == ["fences that did not rise: 1"]


def test_a_contest_that_nobody_entered_proves_nothing() -> None:
    assert Ledger(["a"]).faults() == ["nobody ever got inside"]


def test_jains_index_goes_from_one_for_all_alike_to_one_nth_for_one_alone() -> None:
    assert jain([5, 5, 5, 5]) == 1
    assert jain([20, 0, 0, 0]) == 0.25
    assert jain([0, 0]) == 1


def test_a_demo_whose_lock_lets_two_in_says_so_and_exits_1() -> None:
    done = subprocess.run([sys.executable, "-c", EACH_ITS_OWN_LOCK], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "somebody else was inside already" in done.stdout
    assert "no two were inside" not in done.stdout
