"""`python -m bench`: measure everything and print one table; `--write` keeps it in `bench/RESULTS.md`."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # Only here: each process that a crew starts imports this file, and needs little of what a run does.
    from bench.run import main

    sys.exit(main())
