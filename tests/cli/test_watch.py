"""Which time counts in a demo, and in which seconds its job is due."""

import pytest

from dibs.cli.demo.watch import Watch
from dibs.cli.demo.worker import CATCH_UP, following


def test_the_job_is_due_in_each_second_that_begins_while_somebody_looks() -> None:
    watch = Watch(now=50.0, wall=1000.7)
    for step in range(1, 23):
        watch.look(50 + step / 10, 1000.7 + step / 10)
    assert (watch.first_due, watch.due, watch.slept_through) == (1001, {1001, 1002}, 0)
    assert watch.elapsed == pytest.approx(2.2)


def test_what_was_slept_through_does_not_count() -> None:
    watch = Watch(now=50.0, wall=1000.5)
    watch.look(50.9, 1001.4)
    watch.look(60.9, 1011.4)
    watch.look(61.6, 1012.1)
    assert (watch.due, watch.slept_through) == ({1001, 1012}, 10)
    assert watch.elapsed == pytest.approx(2.6)
    assert watch.slept == pytest.approx(9.0)


def test_a_wall_clock_that_is_set_makes_no_second_due_twice() -> None:
    watch = Watch(now=50.0, wall=1000.5)
    watch.look(50.6, 1001.1)
    watch.look(50.7, 990.2)
    watch.look(51.5, 991.0)
    watch.look(51.6, 1001.9)
    watch.look(51.8, 1002.1)
    assert watch.due == {1001, 1002}


def test_after_a_long_sleep_the_job_is_not_done_for_each_second_of_it() -> None:
    assert following(1000, now=1000.1) == 1001
    assert following(1000, now=1003.9) == 1001
    assert following(1000, now=5000.9) == 5000 - CATCH_UP
