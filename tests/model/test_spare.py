"""Values as short JSON."""

from __future__ import annotations

from dataclasses import field

from dibs.model.spare import known, spare, written
from dibs.model.value import value


@value
class Shop:
    name: str
    floors: int = 1
    open_at: float | None = None
    wares: list[str] = field(default_factory=list[str])


def test_what_is_as_it_always_is_is_left_out() -> None:
    assert spare(Shop("a")) == {"name": "a", "wares": []}
    assert spare(Shop("", 2, 0.0, ["tea"])) == {"name": "", "floors": 2, "open_at": 0.0, "wares": ["tea"]}


def test_it_is_written_in_a_line_as_people_read_it() -> None:
    assert written({"name": "Käse\n", "floors": [1, 2]}) == '{"name":"Käse\\n","floors":[1,2]}'


def test_what_a_newer_version_says_is_left_out() -> None:
    assert known(Shop, {"name": "a", "floors": 2, "cellars": 1}) == {"name": "a", "floors": 2}
