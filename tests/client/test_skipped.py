"""What a call gives that did not run."""

from __future__ import annotations

from math import inf

import pytest

from dibs import Skipped


@pytest.mark.parametrize(
    ("skipped", "words"),
    [
        (Skipped("a"), "<Skipped 'a': held by somebody else>"),
        (
            Skipped("a", "busy", "host:7", "nightly", 1_000_000_000.0, 41.5),
            "<Skipped 'a': held by host:7 for 'nightly', since 2001-09-09 01:46:40 UTC, 41.5s left unless renewed>",
        ),
        (Skipped("a", holder="x", ttl_left=inf), "<Skipped 'a': held by x, for ever unless released>"),
        (Skipped("a", holder="x", since=0.0, ttl_left=-0.5), "<Skipped 'a': held by x, 0ms left unless renewed>"),
        (Skipped("a", "done"), "<Skipped 'a': already done>"),
        (Skipped("a", "done", "host:7"), "<Skipped 'a': already done by host:7>"),
        (
            Skipped("a", "done", "host:7", since=1_000_000_000.0),
            "<Skipped 'a': already done by host:7, at 2001-09-09 01:46:40 UTC>",
        ),
        (Skipped("a", "outage"), "<Skipped 'a': the store cannot be reached, and it was not to run without it>"),
    ],
)
def test_it_says_why_in_words(skipped: Skipped, words: str) -> None:
    assert repr(skipped) == str(skipped) == words


def test_it_is_false_whatever_it_says() -> None:
    assert not Skipped("a")
    assert not Skipped("a", "done", "host:7")


def test_it_is_a_value_that_does_not_change() -> None:
    assert Skipped("a", "done") == Skipped("a", "done") != Skipped("b", "done")
    with pytest.raises(AttributeError):
        Skipped("a").name = "b"  # type: ignore[misc]
