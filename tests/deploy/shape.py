"""Whether what was read has the shape that its reader wants: all that is needed, and nothing that nobody knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Shape = Any
"""A type, a pattern for a text, the set of allowed values, a list of the shape of its items (at least one of them), or
a mapping from fields to shapes. A field that ends in `?` may be missing; `*` stands for all that are not named."""


def faults(value: object, shape: Shape, at: str = "") -> Iterator[str]:
    """All that is wrong with it, each with its place."""
    if isinstance(shape, dict):
        yield from _faults_of_fields(value, shape, at)
    elif isinstance(shape, list):
        yield from _faults_of_items(value, shape[0], at)
    elif not _fits(value, shape):
        yield f"{at}: {value!r} is not {shape}"


def _faults_of_fields(value: object, shape: dict[str, Shape], at: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{at}: {value!r} is no mapping"
        return
    known = {name.removesuffix("?"): within for name, within in shape.items()}
    for name in shape.keys() - {"*"}:
        if not name.endswith("?") and name not in value:
            yield f"{at}.{name} is missing"
    for name, each in value.items():
        if name in known or "*" in known:
            yield from faults(each, known.get(name, known.get("*")), f"{at}.{name}")
        else:
            yield f"{at}.{name} is unknown"


def _faults_of_items(value: object, shape: Shape, at: str) -> Iterator[str]:
    if not isinstance(value, list) or not value:
        yield f"{at}: {value!r} is no list of at least one"
        return
    for number, each in enumerate(value):
        yield from faults(each, shape, f"{at}[{number}]")


def _fits(value: object, shape: Shape) -> bool:
    match shape:
        case re.Pattern():
            return isinstance(value, str) and shape.fullmatch(value) is not None
        case set():
            return value in shape
        case _:
            return type(value) is shape  # a bool is no number here
