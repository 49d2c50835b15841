"""What Python and the scripts both say, they say alike."""

from __future__ import annotations

import re

from dibs.model.lock import MOST_WAITERS
from dibs.model.names import SIDES
from dibs.stores import _ROOMS
from dibs.stores.redis.endpoint import SCHEMES
from dibs.stores.redis.keys import QUEUE, Keys
from dibs.stores.redis.scripts import ACQUIRE, HELD


def test_as_many_may_wait_as_in_every_store() -> None:
    assert re.findall(r"^local MOST_WAITERS = (\d+)$", ACQUIRE.text, re.MULTILINE) == [str(MOST_WAITERS)]


def test_no_lock_can_have_the_name_of_what_is_kept_beside_another() -> None:
    keys = Keys("").of("a") + Keys("").shared
    assert {side.decode() for side in re.findall(rb"~(\w+)\r\n", keys)} == set(SIDES)


def test_who_lists_locks_finds_what_is_kept_beside_them() -> None:
    assert tuple(re.findall(r"'~(\w+)'", HELD.text)) == QUEUE


def test_every_scheme_that_leads_here_is_known_here() -> None:
    assert {scheme for scheme, room in _ROOMS.items() if room == "dibs.stores.redis"} == set(SCHEMES)
