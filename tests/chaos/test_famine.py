"""Programs that run out of file descriptors or threads: they are told, and go on when there are some."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.chaos import famines
from tests.chaos.cast import take_a_turn
from tests.chaos.stage import Stage

KINDS = ["descriptors", "threads"]


@pytest.mark.parametrize("what", KINDS)
@pytest.mark.parametrize("begin", [famines.begin_without, famines.begin_a_loop_without])
def test_a_store_that_cannot_be_opened_now_can_be_later(
    stage: Stage, url: str, what: str, begin: Callable[..., None]
) -> None:
    program = stage.start(begin, what, url)
    [outcome] = program.hear("meanwhile")
    assert outcome in {"StoreRefused", "StoreUnreachable"}
    program.hear("in")
    program.ends()


@pytest.mark.parametrize("what", KINDS)
def test_a_lock_can_be_given_back_though_nobody_could_be_told(stage: Stage, url: str, what: str) -> None:
    program = stage.start(famines.release_without, what, url)
    program.hear("in")
    waiter = stage.start(take_a_turn, "blocking", url, "a", 30)
    waiter.hear("waits")
    program.tell("release")
    [outcome] = program.hear("released")
    assert outcome in {"no", "StoreRefused"}  # then it is owed
    waiter.hear("in")
    program.ends()
