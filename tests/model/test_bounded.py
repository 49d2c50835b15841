"""Texts of others, cut and cleaned for a store."""

from __future__ import annotations

import pytest

from dibs.model.bounded import bounded, bounded_end


@pytest.mark.parametrize(
    ("text", "beginning", "end"),
    [
        ("", "", ""),
        ("12345", "12345", "12345"),
        ("123456", "1234…", "…3456"),
        ("\ud800", "?", "?"),
        ("ü" * 9, "üüüü…", "…üüüü"),
    ],
)
def test_so_many_characters_are_kept(text: str, beginning: str, end: str) -> None:
    assert (bounded(text, 5), bounded_end(text, 5)) == (beginning, end)
