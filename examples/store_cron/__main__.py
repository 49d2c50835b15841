"""Starts the servers: `python -m examples.store_cron --every 2s --take 3`, from the root of the repository."""

from __future__ import annotations

import logging
import os
import sys
from argparse import ArgumentParser

from examples.fleet import side_by_side


def main() -> int:
    """All the servers; one of them, if it was told its number; or a look at the locks."""
    parser = ArgumentParser(prog="python -m examples.store_cron", description="Two cron jobs, each on one server.")
    parser.add_argument("--servers", type=int, default=3, metavar="N", help="so many servers (3)")
    parser.add_argument("--instance", metavar="NUMBER", help="be one server, for instance one on another machine")
    parser.add_argument("--health", action="store_true", help="say which jobs are running, on whatever server")
    parser.add_argument("--unlock", metavar="KEY", help="free a lock by hand, as redis-cli del does (emergency only)")
    parser.add_argument("--every", metavar="2s", help="instead of both schedules (or CRON_EVERY)")
    parser.add_argument("--take", type=float, metavar="SECONDS", help="how long each job lasts: 1 (or CRON_TAKE)")
    said = parser.parse_args()
    for variable, value in {"CRON_EVERY": said.every, "CRON_TAKE": said.take}.items():
        if value is not None:
            os.environ[variable] = str(value)
    if said.health:
        return health()
    if said.unlock:
        return unlock(said.unlock)
    if said.instance is None:
        return side_by_side("examples.store_cron", called="Server", count=said.servers)
    serve(said.instance)
    return 0


def serve(instance: str) -> None:
    """One server, until it is asked to end."""
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format=f"Server {instance}: %(message)s")
    logging.getLogger("dibs").setLevel(logging.WARNING)  # what goes well, the jobs say themselves
    from examples.store_cron import locks, store_auto_close, store_open_reminder  # noqa: F401, PLC0415 - see --every

    with locks.d:
        locks.greet()
        locks.d.serve()


def health() -> int:
    """Whether the jobs are running, by their locks."""
    from examples.store_cron import store_auto_close, store_open_reminder  # noqa: PLC0415 - as above
    from examples.store_cron.locks import d  # noqa: PLC0415

    with d:
        print("Auto-close job running:", str(d.is_locked(store_auto_close.KEY)).lower())
        print("Open-reminder job running:", str(d.is_locked(store_open_reminder.KEY)).lower())
    return 0


def unlock(key: str) -> int:
    """Take a lock from whoever has it: if that one is dead after all, and its TTL is too long to wait for."""
    from examples.store_cron.locks import d  # noqa: PLC0415 - as above

    with d:
        seen = d.inspect(key).held
        is_taken = seen is not None and d.force_release(key, fence=seen.fence, reason="by hand")
    print(f"{key} was {f'taken from {seen.who}' if seen and is_taken else 'free'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
