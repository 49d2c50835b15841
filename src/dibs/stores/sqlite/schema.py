"""What the file holds, and how an older one is brought up to date.

The rule: `FORMAT` counts the versions of the tables. A file of an older format is migrated, step by step, in one
transaction, by the first who opens it with a newer dibs; whoever still runs the older one notices at its next
turn, and refuses; only what it shows, it may still read, by the views of what it knows. A file of a newer format is
refused. So two versions never work on one file side by side.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping

from dibs.stores.sqlite.records import forget
from dibs.stores.sqlite.troubles import MOVE_AWAY

FORMAT = 5
APPLICATION_ID = int.from_bytes(b"dibs")
PAGE_SIZE = 1024
"""A turn touches a few rows on a few pages and writes each of these pages whole: small ones are written faster."""

# Leases, tickets and bars are timed by the machine's boot clock; what people see (`since`) and what is to be
# remembered through its next boot, by the wall clock.
HOLDERS_AND_RECORDS = """
CREATE TABLE holder (
    name TEXT NOT NULL,
    owner TEXT NOT NULL, fence INTEGER NOT NULL, ttl REAL NOT NULL, since REAL NOT NULL, expires_at REAL NOT NULL,
    channel TEXT NOT NULL, who TEXT NOT NULL, purpose TEXT NOT NULL, room INTEGER NOT NULL, depth INTEGER NOT NULL,
    PRIMARY KEY (name, fence)
) WITHOUT ROWID;
CREATE UNIQUE INDEX holder_of_owner ON holder (name, owner);
CREATE TABLE memo (                       -- what was noted of work that was done under a lock
    name TEXT PRIMARY KEY, text TEXT NOT NULL, made_at REAL NOT NULL, until REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX memo_until ON memo (until);
CREATE TABLE counted (                    -- how often what happened to which lock, by namespace
    space TEXT NOT NULL, name TEXT NOT NULL, what TEXT NOT NULL, times INTEGER NOT NULL,
    PRIMARY KEY (space, name, what)
) WITHOUT ROWID;
"""
JOBS = """
CREATE TABLE job (                        -- its sheet, by namespace
    id INTEGER PRIMARY KEY,
    space TEXT NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL,
    acts_at REAL,                         -- when somebody has to look at it again
    text TEXT NOT NULL
);
CREATE UNIQUE INDEX job_by_name ON job (space, name);
CREATE INDEX job_by_time ON job (space, acts_at, name) WHERE acts_at IS NOT NULL;
CREATE TABLE history (                    -- of a job, or of whatever else has one, by namespace
    id INTEGER PRIMARY KEY,
    space TEXT NOT NULL, name TEXT NOT NULL,
    noted INTEGER NOT NULL,               -- so many entries are in it
    ends_at REAL NOT NULL                 -- unless something is added to it until then
);
CREATE UNIQUE INDEX history_by_name ON history (space, name);
CREATE INDEX history_by_end ON history (space, ends_at, name);
CREATE TABLE entry (                      -- what was noted, by the order in which it was
    id INTEGER PRIMARY KEY,
    history INTEGER NOT NULL, at REAL NOT NULL,
    words TEXT NOT NULL,                  -- the name and the tags, a line each
    text TEXT NOT NULL
);
CREATE TABLE found (                      -- each entry, by the name of its history and by each of its tags
    space TEXT NOT NULL, word TEXT NOT NULL, at REAL NOT NULL, entry INTEGER NOT NULL,
    PRIMARY KEY (space, word, at, entry)
) WITHOUT ROWID;
"""
STORE = "format, last_fence, barred_until, boot, life"
LOCK = """
name, waiters, soonest, shortest, owner, fence, ttl, since, expires_at, channel, who, purpose, room, depth, others,
ends, tightest, served
"""
# Whenever a lock is granted the store's last fence rises: so both are in one table, and in a small store on one page.
STATE = f"""
CREATE TABLE state (
    name TEXT PRIMARY KEY,                -- of a lock that somebody holds or waits for, or '' in the store's own row
    waiters INTEGER,
    soonest REAL,                         -- no ticket expires before this
    shortest REAL,                        -- no ticket has a shorter TTL than this
    owner TEXT, fence INTEGER, ttl REAL, since REAL, expires_at REAL, channel TEXT, who TEXT, purpose TEXT,
    room INTEGER, depth INTEGER,
    others INTEGER,                       -- so many hold it beside the first, with a row in `holder` each
    ends REAL,                            -- none of their leases ends before this
    tightest INTEGER,                     -- none of them allows fewer than this
    served INTEGER,                       -- whoever queued up to this place has had its turn, and is only there still
    format INTEGER,                       -- this and what follows is said of the store
    last_fence INTEGER,
    barred_until REAL,                    -- no bar stands after this
    boot TEXT,                            -- a lease does not outlive the boot that it was timed by
    life TEXT                             -- another one in every file
) WITHOUT ROWID;
CREATE VIEW lock AS SELECT {LOCK} FROM state WHERE name <> '';
CREATE VIEW store AS SELECT {STORE} FROM state WHERE name = '';
"""  # noqa: S608 - joined from constants, as below
TICKET = """
CREATE VIEW ticket AS SELECT queue.* FROM lock JOIN queue ON queue.name = lock.name AND place > served;
"""
TABLES = f"""
{STATE}
CREATE TABLE queue (
    name TEXT NOT NULL, place INTEGER NOT NULL,
    owner TEXT NOT NULL, ttl REAL NOT NULL, expires_at REAL NOT NULL,
    channel TEXT NOT NULL, who TEXT NOT NULL, purpose TEXT NOT NULL, seen INTEGER NOT NULL, since REAL NOT NULL,
    room INTEGER NOT NULL DEFAULT 1, depth INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (name, place)
) WITHOUT ROWID;
CREATE UNIQUE INDEX ticket_of_owner ON queue (name, owner);
{TICKET}
CREATE TABLE bar (
    name TEXT NOT NULL, owner TEXT NOT NULL, until REAL NOT NULL,
    PRIMARY KEY (name, owner)
) WITHOUT ROWID;
{HOLDERS_AND_RECORDS}
{JOBS}
"""
A_MONTH = 30 * 86_400
"""So long was kept what was noted in format 3."""
NEW_LIFE = "lower(hex(randomblob(8)))"

MIGRATIONS: Mapping[int, str] = {
    1: f"""
ALTER TABLE lock ADD COLUMN room INTEGER;
ALTER TABLE lock ADD COLUMN depth INTEGER;
ALTER TABLE lock ADD COLUMN others INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lock ADD COLUMN ends REAL NOT NULL DEFAULT 0;
ALTER TABLE lock ADD COLUMN tightest INTEGER NOT NULL DEFAULT 1;
UPDATE lock SET room = 1, depth = 0 WHERE owner IS NOT NULL;
ALTER TABLE ticket ADD COLUMN room INTEGER NOT NULL DEFAULT 1;
ALTER TABLE ticket ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
{HOLDERS_AND_RECORDS}
""",  # noqa: S608 - joined from constants
    2: f"""
ALTER TABLE store ADD COLUMN life TEXT NOT NULL DEFAULT '';
UPDATE store SET life = {NEW_LIFE};
CREATE TABLE job (
    id INTEGER PRIMARY KEY,
    space TEXT NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL,
    acts_at REAL, noted INTEGER NOT NULL, text TEXT NOT NULL
);
CREATE TABLE entry (id INTEGER PRIMARY KEY, job INTEGER NOT NULL, at REAL NOT NULL, text TEXT NOT NULL);
""",  # noqa: S608 - joined from constants
    3: f"""
ALTER TABLE job RENAME TO job_3;
ALTER TABLE entry RENAME TO entry_3;
DROP INDEX IF EXISTS job_by_name;
DROP INDEX IF EXISTS job_by_time;
{JOBS}
INSERT INTO job SELECT id, space, name, revision, acts_at, text FROM job_3;
INSERT INTO history SELECT job.id, space, name, count(*), max(at) + {A_MONTH}
    FROM job JOIN entry_3 ON entry_3.job = job.id GROUP BY job.id;
INSERT INTO entry SELECT entry_3.id, job, at, name, entry_3.text FROM entry_3 JOIN job ON job.id = entry_3.job;
INSERT INTO found SELECT space, name, at, entry.id FROM entry JOIN history ON history.id = entry.history;
DROP TABLE job_3;
DROP TABLE entry_3;
""",  # noqa: S608 - joined from constants
    4: f"""
ALTER TABLE lock RENAME TO lock_4;
ALTER TABLE store RENAME TO store_4;
{STATE}
INSERT INTO state ({LOCK}) SELECT *, 0 FROM lock_4;
INSERT INTO state (name, {STORE}) SELECT '', {STORE} FROM store_4;
DROP TABLE lock_4;
DROP TABLE store_4;
ALTER TABLE ticket RENAME TO queue;
{TICKET}
""",  # noqa: S608 - joined from constants
}
"""The script that takes a file from a format to the next one."""


OTHER_CLOCK = (
    "it is in use where another clock runs: in another container or virtual machine",
    "give each container a file of its own, or all of them one Redis or Valkey",
)


class Unfit(Exception):
    """The file is not for us; says why, and what can be done about it."""

    def __init__(self, why: str, fix: str) -> None:
        self.why, self.fix = why, fix
        super().__init__(why)


def is_ready(db: sqlite3.Connection, boot: str) -> bool:
    """Within a transaction: whether nothing is left to prepare; `Unfit` if the file is somebody else's."""
    return _is_ours(db) and db.execute("SELECT format, boot FROM store").fetchone() == (FORMAT, boot)


def prepare(db: sqlite3.Connection, boot: str, listens: Callable[[str], bool]) -> None:
    """Within a write transaction: make the tables or bring them up to date, and drop what an earlier boot left."""
    if not _is_ours(db):
        _create(db, boot)
    row = db.execute("SELECT format, boot FROM store").fetchone()
    if row is None:
        raise Unfit("it is damaged", MOVE_AWAY)
    found, last_boot = row
    check(found, boot, boot)  # of a newer format we know no more than its number
    for step in range(found, FORMAT):
        _run(db, MIGRATIONS[step])
    if found < FORMAT:
        db.execute("UPDATE state SET format = ? WHERE name = ''", (FORMAT,))
    if last_boot != boot:
        _begin_anew(db, boot, listens)


def _is_ours(db: sqlite3.Connection) -> bool:
    """Whether the file is one of ours, and not empty either; `Unfit` if it is somebody else's.

    Only within a transaction: between two looks, another process could make it one of ours.
    """
    [application_id] = db.execute("PRAGMA application_id").fetchone()
    [tables] = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application_id != APPLICATION_ID and tables:
        raise Unfit("it holds another program's data", "name a file of its own for dibs")
    return bool(application_id == APPLICATION_ID)


def check(file_format: int, file_boot: str, boot: str) -> None:
    """What every turn makes sure of: that nobody else has taken the file over since it was opened."""
    if file_format > FORMAT:
        raise Unfit(f"a newer dibs has written it, in format {file_format}", "upgrade dibs here and restart")
    if file_boot != boot:
        raise Unfit(*OTHER_CLOCK)


def sweep(db: sqlite3.Connection, *, now: float, wall: float) -> None:
    """Within a write transaction: drop what ran out long ago and nobody has asked about since."""
    db.execute("DELETE FROM bar WHERE until < ?", (now,))
    db.execute(
        "DELETE FROM state WHERE name <> '' AND (owner IS NULL OR expires_at <= :now)"
        " AND NOT EXISTS (SELECT 1 FROM holder WHERE holder.name = state.name AND holder.expires_at > :now)"
        " AND NOT EXISTS (SELECT 1 FROM ticket WHERE ticket.name = state.name AND ticket.expires_at > :now)",
        {"now": now},
    )
    db.execute("DELETE FROM holder WHERE name NOT IN (SELECT name FROM lock)")
    db.execute("DELETE FROM queue WHERE name NOT IN (SELECT name FROM lock)")
    forget(db, wall=wall)


def _begin_anew(db: sqlite3.Connection, boot: str, listens: Callable[[str], bool]) -> None:
    """The machine was started since: all who held or waited are gone. If one is not, its clock is not ours."""
    channels = db.execute(
        "SELECT channel FROM lock WHERE owner IS NOT NULL"
        " UNION SELECT channel FROM holder UNION SELECT channel FROM queue"
    )
    if any(listens(channel) for (channel,) in channels):
        raise Unfit(*OTHER_CLOCK)
    _run(db, "DELETE FROM state WHERE name <> ''; DELETE FROM holder; DELETE FROM queue; DELETE FROM bar")
    db.execute("UPDATE state SET boot = ?, barred_until = 0 WHERE name = ''", (boot,))


def _create(db: sqlite3.Connection, boot: str) -> None:
    _run(db, TABLES)
    db.execute(f"INSERT INTO state (name, {STORE}) VALUES ('', ?, 0, 0, ?, {NEW_LIFE})", (FORMAT, boot))  # noqa: S608
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _run(db: sqlite3.Connection, script: str) -> None:
    """Each statement of a script; `executescript` would end the transaction first."""
    for statement in script.split(";"):
        if statement.strip():
            db.execute(statement)
