"""A holder is paused past its lock, another takes over, and then the first one wakes up and writes.

Run it with `python examples/late_write.py`. It needs no server: the locks and the shop are two SQLite files in a folder
that is removed at the end. The shop keeps its stock twice: as most programs do, and guarded by the lock's fence.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import dibs
from dibs import fenced

TTL = "2s"
LOCK = "stock"


def main() -> int:
    """The second holder's side of the story; it also starts and pauses the first."""
    with tempfile.TemporaryDirectory() as folder, closing(shop(folder)) as database:
        for statement in ("CREATE TABLE plain (amount)", "CREATE TABLE guarded (amount)"):
            database.execute(statement)
        database.execute("INSERT INTO plain VALUES (10)")
        database.execute("INSERT INTO guarded VALUES (10)")
        fenced.sql.create(database)
        database.commit()

        with first_holder(folder) as first:
            print(heard(first))
            pause(first)
            try:
                print(f"2. the first holder is paused, and renews nothing: its lock ends after {TTL}")
                take_over(folder, database)
            finally:
                first.send_signal(signal.SIGCONT)
            print("4. the first holder wakes up, and does not know that it has slept")
            print(first.communicate("go on\n")[0], end="")
        return verdict(database)


def first_holder(folder: str) -> subprocess.Popen[str]:
    """Another process, which talks to us by its pipes."""
    words = [sys.executable, __file__, folder]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def heard(first: subprocess.Popen[str]) -> str:
    """The next thing that it says."""
    assert first.stdout is not None
    return first.stdout.readline().rstrip()


def pause(first: subprocess.Popen[str]) -> None:
    """As a full disk, a debugger, a long garbage collection or a moving virtual machine would do it."""
    first.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, first.pid, os.WSTOPPED | os.WNOWAIT)


def take_over(folder: str, database: sqlite3.Connection) -> None:
    """The second holder sells seven."""
    with locks(folder) as d, d.lock(LOCK) as lease:
        print(f"3. the second holder waited {lease.waited:.1f}s, has fence {lease.fence}, and sells 7 of 10")
        with fenced.sql(database, lease) as cursor:
            cursor.execute("UPDATE plain SET amount = 3")
            cursor.execute("UPDATE guarded SET amount = 3")


def sell_late(folder: str) -> None:
    """The first holder's side: it has read 10, sells one, and writes 9, however long that took."""
    with closing(shop(folder)) as database, locks(folder) as d:
        try:
            with d.lock(LOCK, ttl=TTL) as lease:
                print(f"1. the first holder has fence {lease.fence}, and reads that there are 10", flush=True)
                sys.stdin.readline()  # here it is paused; a look at lease.lost helps only until the next pause
                database.execute("UPDATE plain SET amount = 9")
                database.commit()
                print("5. it writes 9 where nobody looks at fences: accepted")
                with fenced.sql(database, lease) as cursor:
                    cursor.execute("UPDATE guarded SET amount = 9")
                print("   it writes 9 where the fence is looked at: accepted")
        except dibs.StaleFence as refused:
            print(f"   it writes 9 where the fence is looked at: refused.\n   {refused}")


def verdict(database: sqlite3.Connection) -> int:
    """What the shop has in the end."""
    (plain,) = database.execute("SELECT amount FROM plain").fetchone()
    (guarded,) = database.execute("SELECT amount FROM guarded").fetchone()
    print(f"6. without a fence the stock is {plain}: seven sold pieces are back on the shelf")
    print(f"   with the fence it is {guarded}, as it should be")
    return 0 if (plain, guarded) == (9, 3) else 1


def shop(folder: str) -> sqlite3.Connection:
    """Where the stock is kept."""
    return sqlite3.connect(Path(folder, "shop.sqlite"))


def locks(folder: str) -> dibs.Dibs:
    """Where the locks are kept."""
    return dibs.connect(f"sqlite:///{Path(folder, 'locks.sqlite')}", quiet=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        sell_late(sys.argv[1])
    else:
        sys.exit(main())
