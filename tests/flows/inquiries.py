"""What people do and ask in a scene, to hear why a tick did or did not run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dibs.flows import controlling, defining, inquiry
from dibs.flows.controlling import Order
from dibs.model.control import Word
from dibs.model.definition import Definition, definition_of
from dibs.model.facts import Answer
from dibs.model.job import Job, Terms
from dibs.model.record import Act, noted, of_acts
from dibs.model.rota import Step
from dibs.model.sheet import Question
from tests.flows.nodes import NAME
from tests.flows.scripted import EPOCH, Process, Scene

FIRST = 20.0
"""The first tick of the minute's job: the scene begins forty seconds past a minute."""
TICK = "The tick of 13:47:00"
EVE = Order("do this to", "eve", "the books")


def why(process: Process, at: float, name: str = NAME) -> Answer:
    """The answer for a second of the scene; all of it is on one day, of which only the time is told."""
    told = process.scene.play(inquiry.why(process.world, process.desk, name, EPOCH + at))
    return replace(told, words=told.words.replace("1970-01-12 ", "").replace(" UTC", ""))


def does(process: Process, judge: Callable[[Job, Word], Step], order: Order = EVE) -> None:
    process.scene.play(controlling.act(process.world, process.desk, NAME, judge, order=order))


def changes(process: Process, rule: str) -> None:
    def said(found: Job) -> Definition:
        return replace(definition_of(found), rule=rule)

    process.scene.play(defining.change(process.world, process.desk, NAME, said, order=EVE))


def adds(process: Process, *, rule: str = "every 60s", name: str = NAME, **terms: Any) -> None:
    said = Definition(name, rule, Terms(**terms), NAME)
    process.scene.play(defining.add(process.world, process.desk, said, order=EVE))


def freezes(process: Process, until: float | None = None) -> None:
    end = None if until is None else EPOCH + until
    process.scene.play(controlling.freeze(process.world, process.desk, lambda _: end, order=EVE))


def thaws(process: Process) -> None:
    process.scene.play(controlling.thaw(process.world, process.desk, order=Order("thaw", "bob")))


def noted_acts(scene: Scene) -> list[Act]:
    lines = scene.server.sheets[""].lines(Question(of_acts(NAME)))
    return [told for line in lines if isinstance(told := noted(line.text), Act)]
