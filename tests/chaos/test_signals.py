"""Signals that strike in the middle of a transaction."""

from __future__ import annotations

from dibs import Dibs
from tests.chaos import signals
from tests.chaos.stage import Stage


def test_interrupts_at_all_possible_moments_do_not_wedge_a_client(stage: Stage, url: str, d: Dibs) -> None:
    programs = [stage.start(signals.be_interrupted_all_the_time, url, 600) for _ in range(2)]
    for program in programs:
        assert program.hear("interrupted") == [600]
    for program in programs:
        program.hear("in")
        program.hear("out")
    d.lock("a", wait=10).acquire().release()


def test_what_was_interrupted_in_the_middle_of_a_write_is_not_written(stage: Stage, url: str, d: Dibs) -> None:
    program = stage.start(signals.interrupt_a_write, url)
    program.hear("interrupted")
    assert program.hear("state") == ["free"]
    program.hear("out")
    program.ends()
    assert not d.locks()


def test_a_handler_that_asks_in_the_middle_of_an_ask_is_refused_and_the_ask_goes_on(
    stage: Stage, url: str, d: Dibs
) -> None:
    program = stage.start(signals.ask_in_a_handler, url)
    assert program.hear("handler") == ["StoreRefused"]
    program.hear("in")
    program.ends()
    assert not d.locks()


def test_a_handler_may_close_the_client_in_the_middle_of_an_ask(stage: Stage, url: str, d: Dibs) -> None:
    program = stage.start(signals.close_in_a_handler, url)
    program.hear("closed", within=10)
    [outcome] = program.hear("took")
    assert outcome in {"ClientClosed", "StoreRefused", "StoreUnreachable"}
    program.ends()
    d.lock("a", wait=10).acquire().release()


def test_a_handler_may_end_the_program_in_the_middle_of_an_ask(stage: Stage, url: str, d: Dibs) -> None:
    program = stage.start(signals.exit_in_a_handler, url)
    program.hear("in")
    program.ends()
    assert not d.locks()  # what it held was given back, and what it asked for was not granted
