"""What is remembered of work that was done once: its result, where that is wanted and can be."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dibs import Dibs
from dibs.events import CallSkipped, Stumbled
from dibs.model.note import LONGEST_NOTE
from dibs.testing.contract import Diary
from tests.client.others import Blocking, Colour

LONG = "366d"
"""So long that no test meets the end of a window."""


@pytest.fixture
def d(anywhere: Dibs) -> Dibs:
    return anywhere


def test_a_remembered_result_is_given_instead(d: Dibs, colour: Colour, diary: Diary) -> None:
    calls: list[str] = []

    def rates(key: str) -> dict[Any, Any]:
        calls.append(key)
        return {"day": key, "rates": (1.5, None), 7: "ü\n"}

    daily = colour.of(d.once("rates:{key}", per=LONG, remember=True), rates)
    assert daily("monday") == {"day": "monday", "rates": (1.5, None), 7: "ü\n"}
    assert daily("monday") == {"day": "monday", "rates": [1.5, None], "7": "ü\n"}
    assert calls == ["monday"]
    assert [told.why for told in diary.of(CallSkipped)] == ["done"]


def test_a_remembered_none_is_none(d: Dibs, colour: Colour) -> None:
    calls: list[str] = []
    daily = colour.of(d.once("rates:{key}", per=LONG, remember=True), calls.append)
    assert (daily("monday"), daily("monday"), calls) == (None, None, ["monday"])


def test_who_did_not_ask_for_results_is_given_none(d: Dibs) -> None:
    assert Blocking.of(d.once("rates:{key}", per=LONG, remember=True), str.upper)("a") == "A"
    assert Blocking.of(d.once("rates:{key}", per=LONG), str.upper)("a").why == "done"


def test_a_result_that_was_not_kept_cannot_be_given(d: Dibs) -> None:
    assert Blocking.of(d.once("rates:{key}", per=LONG), str.upper)("a") == "A"
    assert Blocking.of(d.once("rates:{key}", per=LONG, remember=True), str.upper)("a").why == "done"


LOOP: list[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ({1, 2}, "JSON has no words for set"),
        (Path("a"), "JSON has no words for pathlib"),
        (LOOP, "JSON has no words for list: Circular"),
        ("x" * LONGEST_NOTE, "str of .* bytes is longer than 65536"),
    ],
    ids=["set", "path", "loop", "long"],
)
def test_a_result_that_cannot_be_remembered_is_given_and_the_window_is_done(
    d: Dibs, colour: Colour, diary: Diary, result: object, says: str
) -> None:
    daily = colour.of(d.once("rates:{key}", per=LONG, remember=True), lambda _: result)
    assert daily("monday") is result
    assert daily("monday").why == "done"
    [told] = diary.of(Stumbled)
    assert told.doing.startswith("remembering the result of tests.client.others.")
    assert told.doing.endswith("for 'rates:monday'")
    assert re.search(says, told.error)


def test_a_result_up_to_the_limit_is_remembered(d: Dibs) -> None:
    text = "x" * (LONGEST_NOTE - 200)
    daily = Blocking.of(d.once("rates:{key}", per=LONG, remember=True), lambda _: text)
    assert (daily("a"), daily("a")) == (text, text)
