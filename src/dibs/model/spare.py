"""Values as short JSON: what is as it always is, is left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

from dibs.model.calendar.rule import LATEST

T = TypeVar("T")

NUMBERS = (int, float)
KINDS: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "float": NUMBERS,
    "float | None": (*NUMBERS, type(None)),
    "str": (str,),
    "tuple[str, ...]": (tuple,),
}
"""What may stand where this is said; of what is said otherwise, nobody asks."""


def spare(told: Any) -> dict[str, Any]:
    """What of a value is not as it always is."""
    each = ((name, default, getattr(told, name)) for name, default in _defaults(told.__class__))
    return {name: now for name, default, now in each if now != default}


def written(told: Mapping[str, Any]) -> str:
    """It as text, in a line."""
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False)


def known(kind: Any, told: Mapping[str, Any]) -> dict[str, Any]:
    """What of it is known here: a newer version may say more of what nobody has to decide by."""
    return {name: told[name] for name, _ in _defaults(kind) if name in told}


def sound(told: T) -> T:
    """A value that others have written, if its parts are of their kinds; a `ValueError` names one that is not."""
    kind: Any = told.__class__
    for name, kinds in _kinds(kind):
        part = getattr(told, name)
        if part.__class__ not in kinds or (
            part.__class__ in NUMBERS and float in kinds and not -LATEST < part < LATEST
        ):
            raise ValueError(f"its {name} cannot be {part!r}")
    return told


@cache
def _kinds(kind: Any) -> tuple[tuple[str, tuple[type, ...]], ...]:
    said = ((field.name, str(field.type)) for field in fields(kind))
    return tuple((name, KINDS[words]) for name, words in said if words in KINDS)


@cache
def _defaults(kind: Any) -> tuple[tuple[str, Any], ...]:
    return tuple((field.name, field.default) for field in fields(kind))
