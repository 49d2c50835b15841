"""What Python and the scripts both say, they say alike."""

from __future__ import annotations

import re

import pytest

from dibs.model.job import BACKFILL
from dibs.model.names import SIDES
from dibs.model.sheet import MOST_FORGOTTEN
from dibs.model.table import MOST_WAITERS
from dibs.runtime.crew import HERE
from dibs.stores import _ROOMS
from dibs.stores.redis.endpoint import SCHEMES
from dibs.stores.redis.keys import BESIDE, Keys
from dibs.stores.redis.scripts import ACQUIRE, ALL, AMEND, ENTER, HELD, NOTE, TOGETHER, Script


@pytest.mark.parametrize("script", [ACQUIRE, ENTER, TOGETHER], ids=lambda script: script.name)
def test_as_many_may_wait_as_in_every_store(script: Script) -> None:
    assert re.findall(r"^local MOST_WAITERS = (\d+)$", script.text, re.MULTILINE) == [str(MOST_WAITERS)]


@pytest.mark.parametrize("script", [AMEND, NOTE], ids=lambda script: script.name)
def test_as_much_of_what_is_over_is_dropped_at_once_as_in_every_store(script: Script) -> None:
    assert re.findall(r"^local MOST_FORGOTTEN = (\d+)$", script.text, re.MULTILINE) == [str(MOST_FORGOTTEN)]


def test_no_lock_can_have_the_name_of_what_is_kept_beside_another() -> None:
    keys = Keys("")
    words = (
        keys.of("a")
        + keys.memo_of("a")
        + keys.counts.encode()
        + b"\r\n"
        + keys.jobs
        + keys.indexes
        + keys.entries
        + keys.ends
        + keys.lines_of("a")
        + b"".join(keys.registers)
    )
    sides = {side.decode() for side in re.findall(rb"~(\w+)\r\n", words)}
    assert sides | {side.removeprefix("~") for side in (HERE, BACKFILL)} == set(SIDES)


@pytest.mark.parametrize(("name", "tag"), [("a", "{n:a}"), ("orders:{42}", "n:orders:{42}")])
def test_all_that_is_kept_of_a_lock_is_in_one_slot(name: str, tag: str) -> None:
    keys = Keys("n")
    words = (keys.each_of(name) + keys.memo_of(name)).decode().split("\r\n")[1::2]
    assert words == [f"n:{name}", *(f"{tag}~{side}" for side in (*BESIDE, "memo"))]


@pytest.mark.parametrize("namespace", ["n", ""])
@pytest.mark.parametrize("name", ["a", "orders:{42}", "}{"])
def test_all_that_is_kept_of_jobs_is_in_the_slot_of_the_counter(namespace: str, name: str) -> None:
    keys = Keys(namespace)
    words = keys.counter + keys.jobs + keys.indexes + keys.entries + keys.ends + keys.lines_of(name)
    counter, *others = words.decode().split("\r\n")[1::2]
    assert counter == f"{keys.prefix}~fence"
    sides = ("~jobs", "~due", "~names", "~entries", "~ends", f"{name}~lines", f"{name}~tagged")
    assert others == [f"{{{counter}}}{each}" for each in sides]


def test_who_lists_locks_finds_what_is_kept_beside_them() -> None:
    assert re.findall(r"'~(\w+)'", HELD.text) == [side for side in BESIDE if side != "bars"]


@pytest.mark.parametrize("script", ALL, ids=lambda script: script.name)
def test_no_fence_is_joined_to_a_text_as_a_number(script: Script) -> None:
    """Lua rounds it to 14 digits: two grants in the same moment would have one fence."""
    assert not re.findall(r"\.\. *(?:fence|now|last|revision)\b|\b(?:fence|now|last|revision) *\.\.", script.text)
    assert "tostring" not in script.text


def test_every_scheme_that_leads_here_is_known_here() -> None:
    assert {scheme for scheme, room in _ROOMS.items() if room == "dibs.stores.redis"} == set(SCHEMES)
