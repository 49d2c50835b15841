"""What is written down of work that was done, and read again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.model.asks import Recalled
from dibs.model.note import LONGEST_NOTE, Note

NOTE = Note("once", "host:7", "f1", ({"a": 1},))

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_a_note_is_read_as_it_was_written(result: object) -> None:
    note = Note("shared", "host:7", "f1", (result,))
    assert Note.of("shared", Recalled(9.0, note.text(), 5.0)) == replace(note, made_at=5.0)


def test_a_note_without_a_result_has_none() -> None:
    note = replace(NOTE, results=())
    assert Note.of("once", Recalled(9.0, note.text(), 5.0)) == replace(note, made_at=5.0)
    assert Note("once", "a", "b", (None,)).text() != Note("once", "a", "b").text()


def test_a_note_is_for_those_it_was_written_for() -> None:
    assert Note.of("shared", Recalled(9.0, NOTE.text(), 5.0)) is None
    assert Note.of("once", Recalled(9.0)) is None


@pytest.mark.parametrize("text", ["", "done", "[]", "7", '"once"', "{}", '{"kind": "once"}', "\0"])
def test_what_is_none_of_ours_is_no_note(text: str) -> None:
    assert Note.of("once", Recalled(9.0, text, 5.0)) is None


class Odd(dict[str, int]):
    """Nobody can look into it."""

    def items(self) -> Any:
        raise OSError("no")


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ({1}, "JSON has no words for set: .*not JSON serializable"),
        (b"x", "JSON has no words for bytes"),
        ([object()], "JSON has no words for list: .*object"),
        (Odd(a=1), r"JSON has no words for .*test_note\.Odd: no"),
        ("x" * LONGEST_NOTE, f"str of 65.* bytes is longer than {LONGEST_NOTE}"),
    ],
    ids=["set", "bytes", "within", "odd", "long"],
)
def test_what_cannot_be_written_says_why(result: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        replace(NOTE, results=(result,)).text()
