"""The maths of the benchmark: what a row says of its rounds, and what a contest of processes comes to."""

from functools import partial
from math import inf

import pytest

from bench.rounds import Row, interleaved
from bench.turns import NotExclusive, Turns, jain, percentile


def test_a_row_shows_the_median_and_half_the_distance_of_the_quartiles() -> None:
    row = Row("a", [1.0, 9.0, 2.0, 3.0, 2.0], "µs")
    assert row.figure == 2.0
    assert row.spread == 0.25


def test_a_ratio_is_the_median_of_the_rounds_own_ratios() -> None:
    ours, theirs = Row("ours", [10.0, 100.0, 30.0], "/s"), Row("theirs", [1.0, 50.0, 10.0], "/s")
    beside = ours.beside(theirs)
    assert (beside.ratio, beside.contender) == (3.0, "theirs")


@pytest.mark.parametrize(("mine", "ratio"), [(5.0, inf), (0.0, 1.0)])
def test_who_gets_nothing_done_is_beaten_without_limit(mine: float, ratio: float) -> None:
    assert Row("ours", [mine], "/s").beside(Row("theirs", [0.0], "/s")).ratio == ratio


def test_contenders_take_turns_and_another_begins_each_round() -> None:
    order: list[str] = []
    found = interleaved({name: partial(order.append, name) for name in "abc"}, 2)
    assert "".join(order) == "abccab"
    assert [len(given) for given in found.values()] == [2, 2, 2]


@pytest.mark.parametrize(("turns", "index"), [([3, 3, 3, 3], 1.0), ([4, 0, 0, 0], 0.25), ([1, 3], 0.8), ([0, 0], 1.0)])
def test_jains_index_is_one_for_equal_shares_and_a_share_of_one_for_a_monopoly(turns: list[int], index: float) -> None:
    assert jain(turns) == pytest.approx(index)


@pytest.mark.parametrize(("part", "value"), [(0.5, 50.0), (0.99, 99.0), (0.0, 1.0), (1.0, 100.0)])
def test_a_percentile_is_a_value_that_was_measured(part: float, value: float) -> None:
    assert percentile([float(number) for number in range(100, 0, -1)], part) == value


def test_a_percentile_of_nothing_is_never() -> None:
    assert percentile([], 0.5) == inf


def test_a_hand_over_counts_only_if_another_process_comes_next() -> None:
    turns = Turns.of([[(0.0, 1.0), (1.25, 2.0), (6.0, 7.0)], [(2.5, 3.0)], []])
    assert turns.handovers == [0.5, 3.0]
    assert turns.fairness == pytest.approx(16 / (3 * 10))
    assert turns.starved == 1


def test_a_lock_that_two_hold_at_once_gets_no_figures() -> None:
    with pytest.raises(NotExclusive):
        Turns.of([[(0.0, 2.0)], [(1.0, 3.0)]])
