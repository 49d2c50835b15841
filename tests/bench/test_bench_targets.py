"""A target is met, missed or not measured, and the page shows which."""

import pytest

from bench.rounds import Row
from bench.table import Report, figures
from bench.targets import Bound, Judgement, Target, Verdict, judged

FLOOR = Row("floor", [10.0, 10.0], "µs")
PEER = Row("peer", [50.0, 70.0], "µs")
OURS = Row("ours", [25.0, 35.0], "µs").beside(FLOOR)


@pytest.mark.parametrize(
    ("target", "found", "verdict"),
    [
        (Target("ours", Bound.AT_MOST, 3.0, contender="floor"), 3.0, Verdict.MET),
        (Target("ours", Bound.AT_MOST, 2.9, contender="floor"), 3.0, Verdict.MISSED),
        (Target("ours", Bound.AT_LEAST, 3.0, contender="floor"), 3.0, Verdict.MET),
        (Target("ours", Bound.AT_MOST, 0.5, contender="peer"), 0.5, Verdict.MET),
        (Target("ours", Bound.BELOW, 30.0), 30.0, Verdict.MISSED),
        (Target("ours", Bound.BELOW, 30.1), 30.0, Verdict.MET),
        (Target("ours", Bound.AT_MOST, 3.0, contender="somebody else"), None, Verdict.UNKNOWN),
        (Target("theirs", Bound.AT_MOST, 3.0), None, Verdict.UNKNOWN),
    ],
)
def test_a_target_is_judged_by_its_figure_or_by_its_ratio(
    target: Target, found: float | None, verdict: Verdict
) -> None:
    assert judged([FLOOR, PEER, OURS], [target]) == [Judgement(target, found, verdict)]


def test_the_page_shows_a_target_that_was_missed() -> None:
    target = Target("ours", Bound.AT_MOST, 2.0, contender="floor")
    report = Report([FLOOR, OURS], judged([FLOOR, OURS], [target]), ["a note"], ["Redis 7.0"], ["theirs 1.2"])
    page = report.page("make bench", load=0.5)
    assert "| ours | ≤ 2x | 3.00x | missed | floor |" in page
    assert "$ make bench\n" in page
    assert "\na note\n" in page
    assert ", Redis 7.0, " in page
    assert " Beside it: theirs 1.2.\n" in page


@pytest.mark.parametrize(
    ("rounds", "shown"),
    [([12_345.6], "12,346"), ([0.0123456], "0.0123"), ([3.0], "3"), ([float("inf")], "∞")],
)
def test_a_figure_has_three_digits_or_all_before_the_point(rounds: list[float], shown: str) -> None:
    [line] = figures([Row("a", rounds, "µs")]).lines
    assert line[1] == shown


@pytest.mark.parametrize(("theirs", "shown"), [(4.0, "0.25x"), (0.04, "25x"), (400.0, "0.0025x"), (0.0, "∞")])
def test_a_ratio_is_shown_however_small_or_large(theirs: float, shown: str) -> None:
    [line] = figures([Row("a", [1.0], "µs").beside(Row("b", [theirs], "µs"))]).lines
    assert line[4] == shown
