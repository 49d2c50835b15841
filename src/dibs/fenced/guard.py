"""The guard of a resource in a SQL database: one row that knows the newest fence, raised by whoever writes."""

from __future__ import annotations

import re
from typing import Protocol

from dibs.errors import ConfigError, StaleFence
from dibs.fenced.claim import Claim
from dibs.model.names import LONGEST

TABLE = "dibs_fence"
SAVEPOINT = "dibs_fence_row"

_TABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}(\.[A-Za-z_][A-Za-z0-9_]{0,62})?", re.ASCII)

DDL = "CREATE TABLE IF NOT EXISTS {table} (resource VARCHAR({longest}) NOT NULL PRIMARY KEY, fence BIGINT NOT NULL)"
RAISE = "UPDATE {table} SET fence = {fence} WHERE resource = {resource} AND fence <= {fence}"
LOWER = "UPDATE {table} SET fence = fence - 1 WHERE resource = {resource} AND fence = {fence}"
INSERT = "INSERT INTO {table} (resource, fence) VALUES ({resource}, {fence})"
NEWEST = "SELECT fence FROM {table} WHERE resource = {resource}"
"""Nothing but SQL that all databases share; what is in braces becomes a name, or a mark for a value."""

BEGIN_AGAIN = "Another transaction guards this resource for the first time just now: roll back, and begin yours again."


class Database(Protocol):
    """A transaction that is open, and how one speaks in it."""

    def change(self, statement: str, claim: Claim) -> int:
        """How many rows it has changed."""
        ...

    def attempt(self, statement: str, claim: Claim) -> Exception | None:
        """Do it, or leave no trace of it: the error is given back if there is such a row already."""
        ...

    def look(self, statement: str, claim: Claim) -> int | None:
        """The number that it finds, if any."""
        ...


def guard(database: Database, claim: Claim) -> None:
    """Raise the resource's fence to ours, and hold its row until the transaction ends; `StaleFence` if it is higher.

    Whoever comes meanwhile waits for the row, and then sees what we have written and our fence.
    """
    if _raised(database, claim):
        return
    error = database.attempt(INSERT, claim)
    if error is None:
        return
    # MySQL's drivers count only rows that have changed, and a fence that was ours already is none.
    # So it is lowered first, which nobody sees, and then raised for certain.
    database.change(LOWER, claim)
    if _raised(database, claim):
        return
    newest = database.look(NEWEST, claim)
    if newest is None:  # a transaction that sees the past does not see the row that is in its way
        error.add_note(BEGIN_AGAIN)
        raise error
    raise StaleFence(claim.resource, fence=claim.fence, newest=newest if newest > claim.fence else None)


def _raised(database: Database, claim: Claim) -> bool:
    return told(database.change(RAISE, claim)) > 0


def told(rows: int) -> int:
    """The number of rows, from a driver that tells it."""
    if rows < 0:
        raise ConfigError(
            f"rowcount={rows}: this driver does not tell how many rows were changed, so nothing is guarded"
        )
    return rows


def checked_table(table: object) -> str:
    """The name, if it can be nothing but a name: it becomes part of the statements."""
    if not isinstance(table, str) or not _TABLE.fullmatch(table):
        raise ConfigError(
            f"table={table!r}: name a table by letters, digits and _, with its schema before a dot if need be"
        )
    return table


def ddl(table: str) -> str:
    """What makes the guard's table."""
    return DDL.format(table=checked_table(table), longest=LONGEST)
