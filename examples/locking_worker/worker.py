"""One worker: a process that does the work if it gets the lock, and else watches whoever does it."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from random import Random
from threading import Event
from time import monotonic

import dibs
from dibs import Attempt
from examples.locking_worker.ledger import Entry, Ledger, Outcome, What
from examples.locking_worker.messages import Acquire, Finished, Go, InPlace, Report, Terms, Tried, Troubled

KEY = "mylock"


def work(number: int, terms: Terms, primary: Connection) -> None:
    """All that such a process does: a round whenever the primary says so, until the primary hangs up."""
    for ending in (signal.SIGINT, signal.SIGTERM):  # for the primary, which ends after the round, and we with it
        signal.signal(ending, signal.SIG_IGN)
    try:
        with dibs.connect(quiet=True) as d, Ledger(terms.ledger) as ledger, suppress(EOFError, ConnectionError):
            hand = Hand(number, terms, primary, d, ledger)
            while True:
                order = primary.recv()
                if isinstance(order, Acquire):
                    hand.take_part(order.round)
    except dibs.ConfigError as error:
        sys.exit(f"Worker {number}: {error}")


class Hand:
    """A worker's side of the story."""

    def __init__(self, number: int, terms: Terms, primary: Connection, d: dibs.Dibs, ledger: Ledger) -> None:
        self._number, self._terms, self._primary, self._ledger = number, terms, primary, ledger
        self._round, self._may_work = 0, False
        self._worker = d.worker(
            KEY,
            lock_timeout=terms.lock_timeout,
            max_attempts=terms.max_attempts,
            status_level=dibs.StatusLevel.VERBOSE,
        )
        self._answer_events()

    def _answer_events(self) -> None:
        worker = self._worker

        @worker.on("acquired")
        def acquired(last_attempt: bool) -> None:  # noqa: FBT001 - as the event has it
            assert worker.attempt is not None
            self._try(worker.attempt, last_attempt=last_attempt)

        @worker.on("locked")
        def locked() -> None:
            self._say("did not acquire lock")
            self._report(InPlace(self._round))

        @worker.on("error")
        def error(error: Exception) -> None:
            self._say(f"Error from lock: {error}")
            self._report(Troubled(self._round))  # who finds that the primary is gone ends here

        @worker.on("status")
        def status(message: str) -> None:
            self._say(f"Status message from lock: {message}")

        @worker.on("max-attempts")
        def max_attempts() -> None:
            self._say("gives up: nobody had better luck")

    def take_part(self, number: int) -> None:
        """One round, from our first ask for the lock to its end."""
        self._round, self._may_work = number, False
        self._report(Finished(number, self._worker.acquire()))

    def _try(self, attempt: Attempt, *, last_attempt: bool) -> None:
        """One attempt, under the lock: it has failed unless it says that it is done."""
        began_at = monotonic()
        self._wait_for_the_others()
        self._enter("begun", attempt)
        if self._terms.take:
            self._say(f"is at work on attempt #{attempt.number}")
            Event().wait(self._terms.take)  # in earnest: whatever two must not do at once
        outcome: Outcome = "done" if self._is_lucky(attempt) else "failed"
        counts = self._enter(outcome, attempt)
        if not counts:
            self._say("comes too late: the ledger knows of a higher fence")
        elif outcome == "done":
            self._say(f"completed work successfully, last attempt? {str(last_attempt).lower()}")
        else:
            self._say("failed to do work")
        told = outcome if counts else "late"
        self._report(Tried(self._round, attempt.number, began_at=began_at, ended_at=monotonic(), outcome=told))
        if outcome == "done":
            self._worker.done()  # also if it is late: then it does not count

    def _is_lucky(self, attempt: Attempt) -> bool:
        luck = Random(f"{self._terms.seed} {self._round} {attempt.number} {self._number}")  # noqa: S311 - no secret
        return luck.random() < self._terms.chance

    def _enter(self, what: What, attempt: Attempt) -> bool:
        return self._ledger.takes(Entry(what, self._round, attempt.number, self._number), attempt.lease)

    def _wait_for_the_others(self) -> None:
        """Until all have their place: who came only after the work was done, would ask for it to be done once more."""
        self._report(InPlace(self._round))
        while not self._may_work:
            self._may_work = self._primary.recv() == Go(self._round)

    def _report(self, report: Report) -> None:
        self._primary.send(report)

    def _say(self, words: str) -> None:
        """In one piece, as many speak at once."""
        sys.stdout.write(f"Worker {self._number} {words}\n")
        sys.stdout.flush()
