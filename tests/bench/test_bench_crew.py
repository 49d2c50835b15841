"""The processes of the benchmark begin together, and are gone afterwards whatever happened."""

from functools import partial
from multiprocessing import active_children
from operator import truediv
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bench import wal
from bench.crew import CrewFailed, crew
from bench.turns import Turns


def test_all_processes_pass_the_baton_round() -> None:
    with TemporaryDirectory() as folder, crew(3) as three:
        part = partial(wal.take_turns, crowd=3, folder=Path(folder), section=0.0, span=0.05)
        turns = Turns.of(three.play(part))
    assert len(turns.turns) == len(turns.handovers) + 1 > 1
    assert {turn.holder for turn in turns.turns} == {0, 1, 2}
    assert not active_children()


def test_the_failure_of_one_process_is_told_with_its_cause() -> None:
    with pytest.raises(CrewFailed, match=r"process \d failed:\n(?s:.*)TypeError"), crew(2) as two:
        two.play(truediv)
    assert not active_children()


def test_the_death_of_a_process_is_noticed() -> None:
    with crew(1) as one:
        [process] = active_children()
        process.kill()
        process.join()
        with pytest.raises(CrewFailed, match="process 0 died"):
            one.play(truediv)


def test_processes_are_gone_after_ctrl_c() -> None:
    with pytest.raises(KeyboardInterrupt), crew(2):
        raise KeyboardInterrupt
    assert not active_children()
