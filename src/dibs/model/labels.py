"""Labels: a job may ask for some, and is then run only by nodes that have them all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from dibs.model.names import text_fault

RIGHT = "say them as 'gpu,eu' or ('gpu', 'eu')"


def labels_of(said: object) -> tuple[str, ...]:
    """The labels, each once and in the order of the alphabet; a `ValueError` says what is wrong with one."""
    for label in (each := _each(said)):
        if fault := _fault(label):
            raise ValueError(f"{label!r} is no label: {fault}; {RIGHT}")
    return tuple(sorted({str(label) for label in each}))


def _each(said: object) -> Sequence[object]:
    if isinstance(said, str):
        return [label.strip() for label in said.split(",")] if said.strip() else []
    if isinstance(said, bytes) or not isinstance(said, Iterable):
        raise ValueError(f"labels are text, not {type(said).__name__}: {RIGHT}")
    return list(cast("Iterable[object]", said))


def _fault(label: object) -> str | None:
    if fault := text_fault(label, what="a label"):
        return fault
    if not label:
        return "a label needs at least one character"
    if any(mark.isspace() or mark == "," for mark in str(label)):
        return "a label may hold no blanks and no commas"
    return None
