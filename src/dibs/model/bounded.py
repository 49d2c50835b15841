"""Texts that others wrote, as a store can keep them: not too long, and of characters that can be encoded."""

from __future__ import annotations


def bounded(text: str, most: int) -> str:
    """The text, or its beginning: so many characters at the most."""
    cut = text if len(text) <= most else f"{text[: most - 1]}…"
    return cut.encode(errors="replace").decode()  # half of a surrogate pair cannot be stored


def bounded_end(text: str, most: int) -> str:
    """The text, or its end."""
    cut = text if len(text) <= most else f"…{text[len(text) - most + 1 :]}"
    return cut.encode(errors="replace").decode()
