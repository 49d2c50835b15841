"""`dibs.supervise`: what it refuses before it starts anything; and what a lifeline carries."""

from __future__ import annotations

import os
import signal
import socket
import threading
from contextlib import closing
from typing import Any

import pytest

import dibs
from dibs.events import WorkerEnded, WorkerEvent, WorkerReady
from dibs.runtime.supervisor.lifeline import LIFELINE, Lifeline, Said
from tests.supervisor.primaries import LONG, SHOP


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ({"target": "shop"}, "target='shop': name a module and what is in it, as in 'shop.jobs:d'"),
        ({"target": "shop:"}, "target='shop:': name a module"),
        ({"target": 7}, "target=7: name a module"),
        ({"workers": 0}, "workers=0: give a whole number from 1 to 1000"),
        ({"workers": True}, "workers=True: "),
        ({"port": 70_000}, "port=70000: from 1 to 65535"),
        ({"port": 65_534}, "port=65534: worker 4 would listen on 65538, and 65535 is the last"),
        ({"host": ""}, "host='': name an address of this machine, as in '127.0.0.1'"),
        ({"app": "shop:app"}, "app='shop:app' needs a port to be served on: give one with port="),
        ({"app": "shop", "port": 3000}, "app='shop': name a module"),
        ({"grace": "soon"}, "grace: 'soon' is not a duration"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_makes_no_sense_is_refused(said: dict[str, Any], complaint: str) -> None:
    with pytest.raises(dibs.ConfigError) as refused:
        dibs.supervise(**{"target": SHOP, "workers": 4, **said})
    assert complaint in str(refused.value)


def test_only_the_main_thread_may_supervise() -> None:
    refusals: list[dibs.ConfigError] = []

    def supervise() -> None:
        try:
            dibs.supervise(SHOP, workers=1)
        except dibs.ConfigError as refusal:
            refusals.append(refusal)

    thread = threading.Thread(target=supervise)
    thread.start()
    thread.join(LONG)
    assert "call it there" in str(*refusals)


@pytest.mark.thorough
def test_a_program_may_be_its_own_front_door_and_has_its_signals_back_afterwards() -> None:
    told: list[WorkerEvent] = []

    def tell(event: WorkerEvent) -> None:
        told.append(event)
        if isinstance(event, WorkerReady):
            os.kill(os.getpid(), signal.SIGTERM)

    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]
    assert dibs.supervise(SHOP, workers=1, tell=tell) == 0
    assert isinstance(told[-1], WorkerEnded)
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)] == before


def test_words_arrive_as_they_were_said_and_an_end_is_noticed() -> None:
    ours, its = socket.socketpair()
    with closing(Lifeline(ours)) as near, closing(Lifeline(its)) as far:
        far.say("ready")
        far.say("fault", "it is\nbroken")
        assert list(near.heard()) == [Said("ready"), Said("fault", "it is broken")]
        was_over = near.is_over
        far.close()
        assert not list(near.heard())
        assert (was_over, near.is_over) == (False, True)
        near.say("leave")  # which nobody hears


def test_a_word_in_two_halves_is_one_word_and_one_that_nobody_knows_is_none() -> None:
    ours, its = socket.socketpair()
    with closing(Lifeline(ours)) as near, its:
        its.send(b"whatever\nbe")
        assert not list(near.heard())
        its.send(b"at \n")
        assert list(near.heard()) == [Said("beat")]


@pytest.mark.parametrize("said", ["", "three", "987654"])
def test_a_process_without_a_primary_has_no_lifeline(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIFELINE, said)
    assert Lifeline.inherited() is None
    assert LIFELINE not in os.environ
