"""A program that writes to a file under one fence after another, beside others that do the same.

Its words are the file and the fences. It says which of them were refused, and waits for a line before it starts.
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing

from dibs import StaleFence, fenced
from tests.chaos.moments import LONG
from tests.fenced.places import Holder


def main(file: str, *fences: str) -> None:
    with closing(sqlite3.connect(file, timeout=LONG)) as connection:
        print("ready", flush=True)
        sys.stdin.readline()
        for fence in map(int, fences):
            try:
                with fenced.sql(connection, Holder(fence)) as cursor:
                    cursor.execute("INSERT INTO accepted (fence) VALUES (?)", (fence,))
            except StaleFence as refused:
                print(refused.fence, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
