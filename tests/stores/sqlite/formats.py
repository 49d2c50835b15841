"""The tables as older versions of dibs have made them."""

TABLES_1 = """
CREATE TABLE store (
    format INTEGER NOT NULL,
    last_fence INTEGER NOT NULL,
    barred_until REAL NOT NULL,           -- no bar stands after this
    boot TEXT NOT NULL                    -- a lease does not outlive the boot that it was timed by
);
CREATE TABLE lock (                       -- a row while somebody holds it or waits for it
    name TEXT PRIMARY KEY,
    waiters INTEGER NOT NULL,
    soonest REAL NOT NULL,                -- no ticket expires before this
    shortest REAL NOT NULL,               -- no ticket has a shorter TTL than this
    owner TEXT, fence INTEGER, ttl REAL, since REAL, expires_at REAL, channel TEXT, who TEXT, purpose TEXT
) WITHOUT ROWID;
CREATE TABLE ticket (
    name TEXT NOT NULL, place INTEGER NOT NULL,
    owner TEXT NOT NULL, ttl REAL NOT NULL, expires_at REAL NOT NULL,
    channel TEXT NOT NULL, who TEXT NOT NULL, purpose TEXT NOT NULL, seen INTEGER NOT NULL, since REAL NOT NULL,
    PRIMARY KEY (name, place)
) WITHOUT ROWID;
CREATE UNIQUE INDEX ticket_of_owner ON ticket (name, owner);
CREATE TABLE bar (
    name TEXT NOT NULL, owner TEXT NOT NULL, until REAL NOT NULL,
    PRIMARY KEY (name, owner)
) WITHOUT ROWID;
"""
TABLES_2 = """
CREATE TABLE store (
    format INTEGER NOT NULL,
    last_fence INTEGER NOT NULL,
    barred_until REAL NOT NULL,           -- no bar stands after this
    boot TEXT NOT NULL                    -- a lease does not outlive the boot that it was timed by
);
CREATE TABLE lock (                       -- a row while somebody holds it or waits for it
    name TEXT PRIMARY KEY,
    waiters INTEGER NOT NULL,
    soonest REAL NOT NULL,                -- no ticket expires before this
    shortest REAL NOT NULL,               -- no ticket has a shorter TTL than this
    owner TEXT, fence INTEGER, ttl REAL, since REAL, expires_at REAL, channel TEXT, who TEXT, purpose TEXT,
    room INTEGER, depth INTEGER,
    others INTEGER NOT NULL DEFAULT 0,    -- so many hold it beside the first, with a row in `holder` each
    ends REAL NOT NULL DEFAULT 0,         -- none of their leases ends before this
    tightest INTEGER NOT NULL DEFAULT 1   -- none of them allows fewer than this
) WITHOUT ROWID;
CREATE TABLE ticket (
    name TEXT NOT NULL, place INTEGER NOT NULL,
    owner TEXT NOT NULL, ttl REAL NOT NULL, expires_at REAL NOT NULL,
    channel TEXT NOT NULL, who TEXT NOT NULL, purpose TEXT NOT NULL, seen INTEGER NOT NULL, since REAL NOT NULL,
    room INTEGER NOT NULL DEFAULT 1, depth INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (name, place)
) WITHOUT ROWID;
CREATE UNIQUE INDEX ticket_of_owner ON ticket (name, owner);
CREATE TABLE bar (
    name TEXT NOT NULL, owner TEXT NOT NULL, until REAL NOT NULL,
    PRIMARY KEY (name, owner)
) WITHOUT ROWID;
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
LOCKS_3 = """
CREATE TABLE store (
    format INTEGER NOT NULL,
    last_fence INTEGER NOT NULL,
    barred_until REAL NOT NULL,           -- no bar stands after this
    boot TEXT NOT NULL,                   -- a lease does not outlive the boot that it was timed by
    life TEXT NOT NULL DEFAULT ''         -- another one in every file
);
CREATE TABLE lock (                       -- a row while somebody holds it or waits for it
    name TEXT PRIMARY KEY,
    waiters INTEGER NOT NULL,
    soonest REAL NOT NULL,                -- no ticket expires before this
    shortest REAL NOT NULL,               -- no ticket has a shorter TTL than this
    owner TEXT, fence INTEGER, ttl REAL, since REAL, expires_at REAL, channel TEXT, who TEXT, purpose TEXT,
    room INTEGER, depth INTEGER,
    others INTEGER NOT NULL DEFAULT 0,    -- so many hold it beside the first, with a row in `holder` each
    ends REAL NOT NULL DEFAULT 0,         -- none of their leases ends before this
    tightest INTEGER NOT NULL DEFAULT 1   -- none of them allows fewer than this
) WITHOUT ROWID;
CREATE TABLE ticket (
    name TEXT NOT NULL, place INTEGER NOT NULL,
    owner TEXT NOT NULL, ttl REAL NOT NULL, expires_at REAL NOT NULL,
    channel TEXT NOT NULL, who TEXT NOT NULL, purpose TEXT NOT NULL, seen INTEGER NOT NULL, since REAL NOT NULL,
    room INTEGER NOT NULL DEFAULT 1, depth INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (name, place)
) WITHOUT ROWID;
CREATE UNIQUE INDEX ticket_of_owner ON ticket (name, owner);
CREATE TABLE bar (
    name TEXT NOT NULL, owner TEXT NOT NULL, until REAL NOT NULL,
    PRIMARY KEY (name, owner)
) WITHOUT ROWID;
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
TABLES_3 = f"""
{LOCKS_3}
CREATE TABLE job (                        -- its sheet, by namespace
    id INTEGER PRIMARY KEY,
    space TEXT NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL,
    acts_at REAL,                         -- when somebody has to look at it again
    noted INTEGER NOT NULL,               -- so many entries are in its history
    text TEXT NOT NULL
);
CREATE UNIQUE INDEX job_by_name ON job (space, name);
CREATE INDEX job_by_time ON job (space, acts_at, name) WHERE acts_at IS NOT NULL;
CREATE TABLE entry (                      -- what was noted of a job, by the order in which it was
    id INTEGER PRIMARY KEY,
    job INTEGER NOT NULL, at REAL NOT NULL, text TEXT NOT NULL
);
CREATE INDEX entry_of_job ON entry (job, at);
"""
TABLES_4 = f"""
{LOCKS_3}
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
TABLES = {1: TABLES_1, 2: TABLES_2, 3: TABLES_3, 4: TABLES_4}
"""By the number of their format."""
