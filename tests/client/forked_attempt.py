"""A program that forks in the middle of an attempt: its child goes on as if the attempt were its own."""

from __future__ import annotations

import os
import sys

import dibs
from dibs import Attempt, Worker
from tests.client.hands import client


def forked(attempt: Attempt, d: dibs.Dibs) -> bool:
    """Whether this is the child, which comes to its end first."""
    pid = os.fork()
    if pid == 0:
        return True
    os.waitpid(pid, 0)
    print("held" if d.inspect("mylock").held is not None else "free", flush=True)
    attempt.done()
    return False


def loop(worker: Worker, d: dibs.Dibs) -> None:
    for attempt in worker.attempts():
        forked(attempt, d)


def handler(worker: Worker, d: dibs.Dibs) -> None:
    @worker.on_acquired
    def work(last_attempt: bool) -> None:
        assert worker.attempt is not None
        forked(worker.attempt, d)

    worker.on_error(lambda error: None)  # which is not asked: the attempt is not the child's to go on with
    worker.acquire()


def main(url: str, way: str) -> None:
    parent = os.getpid()
    with client(url) as d:
        worker = d.worker("mylock")
        try:
            {"loop": loop, "handler": handler}[way](worker, d)
        except dibs.LeaseLost as lost:
            print(type(lost).__name__, flush=True)
        if os.getpid() != parent:
            os._exit(0)
        print(worker.finish)


if __name__ == "__main__":
    main(*sys.argv[1:])
