"""However many locks, waiters and jobs there are, a turn looks only at its own."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

import pytest

from dibs.stores.sqlite import histories, holders, row, sheets, views
from dibs.stores.sqlite.schema import prepare
from tests.stores.sqlite.turns import BOOT, nobody

SEARCHES = {
    f"{room.__name__.rpartition('.')[2]}.{name}": statement
    for room in (row, holders, views, sheets, histories)
    for name, statement in vars(room).items()
    if isinstance(statement, str) and statement.split()[0] in {"SELECT", "UPDATE", "DELETE"}
}


@pytest.mark.parametrize("search", SEARCHES)
def test_everything_is_found_by_index_and_in_its_order(search: str) -> None:
    statement = SEARCHES[search]
    by_name = {"name": "a", "prefix": "a", "limit": 1, "now": 1.0}
    by_place = (1,) * len(set(re.findall(r"\?\d", statement)) or re.findall(r"\?", statement))
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        prepare(db, BOOT, nobody)
        found = db.execute(f"EXPLAIN QUERY PLAN {statement}", by_name if ":" in statement else by_place).fetchall()
    steps = [step for *_, step in found]
    assert steps
    assert not [step for step in steps if "SCAN" in step or "TEMP B-TREE" in step], steps
