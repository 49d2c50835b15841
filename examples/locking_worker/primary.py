"""The primary: starts the workers, leads them from round to round, and puts another in the place of one that dies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Self, cast

from dibs import Finish
from examples.locking_worker.messages import Acquire, Finished, Go, InPlace, Order, Report, Terms, Tried, Troubled
from examples.locking_worker.worker import work

SPAWN = get_context("spawn")
"""Each begins as a program of its own, with nothing of the others."""


class WorkerFailed(Exception):
    """A worker has ended by itself, so another in its place would do the same; it has said why."""


@dataclass(frozen=True, slots=True)
class Member:
    """A worker as the primary knows it."""

    number: int
    process: SpawnProcess
    pipe: Connection

    def tell(self, order: Order) -> None:
        """If it has died, we hear of that when we listen."""
        with suppress(BrokenPipeError):
            self.pipe.send(order)

    def heard(self) -> Report | None:
        """What it says next; `None` if it has ended."""
        with suppress(EOFError, ConnectionResetError):
            report: Report = self.pipe.recv()
            return report
        return None


@dataclass(frozen=True, slots=True)
class Round:
    """What has become of a round."""

    number: int
    finishes: list[Finish] = field(default_factory=list)
    """As each of those says who saw its end."""
    tried: list[Tried] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        """Else it is out of attempts."""
        return "done" in self.finishes or "completed" in self.finishes


class GivenUp(Exception):
    """The round that is on does not end while the store is away, and somebody wants us to."""


class Primary:
    """Whoever leads the workers; they end with its block. Who wants it to end says so by the list of who `asked`."""

    def __init__(self, terms: Terms, workers: int, asked: Sequence[int] = ()) -> None:
        self._terms, self._crew, self._asked = terms, dict[int, Member](), asked
        for number in range(1, workers + 1):
            self._start(number)

    def play(self, number: int) -> Round:
        """One round, to its end: if all who took part in it have died, those in their place go on with it."""
        played = Round(number)
        while not played.finishes:
            self._lead(played)
        print(f"Round {number} is {'done' if played.is_done else 'out of attempts'}", flush=True)
        return played

    def _lead(self, played: Round) -> None:
        """Tell all to take part, and listen until none of them does any more."""
        absent, busy = set(self._crew), set(self._crew)
        self._tell(busy, Acquire(played.number))
        while busy:
            are_waited_for = bool(absent)
            for number, report in self._heard():
                absent.discard(number)  # whatever it says, it has its place by now, or wants none
                match report:
                    case Tried():
                        played.tried.append(report)
                    case Finished():
                        played.finishes.append(report.finish)
                        busy.discard(number)
                    case None:
                        busy.discard(number)
                    case Troubled() if self._asked:
                        raise GivenUp
                    case InPlace() | Troubled():
                        pass
            if are_waited_for and not absent:
                self._tell(busy, Go(played.number))

    def _tell(self, numbers: Iterable[int], order: Order) -> None:
        for number in numbers:
            self._crew[number].tell(order)

    def _heard(self) -> Iterator[tuple[int, Report | None]]:
        """What comes next, and from whom. One that has died says nothing, and has its successor already."""
        members = {member.pipe: member for member in self._crew.values()}
        for pipe in wait(list(members)):
            member = members[cast("Connection", pipe)]
            report = member.heard()
            if report is None:
                self._replace(member)
            yield member.number, report

    def _replace(self, member: Member) -> None:
        member.process.join()
        code = member.process.exitcode or 0
        if code >= 0:
            raise WorkerFailed(f"Worker {member.number} has ended with code {code}")
        print(f"Worker {member.number} was killed by signal {-code}", flush=True)
        member.pipe.close()
        self._start(member.number)

    def _start(self, number: int) -> None:
        ours, theirs = SPAWN.Pipe()
        process = SPAWN.Process(target=work, args=(number, self._terms, theirs), daemon=True)
        process.start()
        theirs.close()  # else we would not hear that it has died
        self._crew[number] = Member(number, process, ours)
        print(f"Worker {number} is process {process.pid}", flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for member in self._crew.values():
            member.pipe.close()
        for member in self._crew.values():
            member.process.join()
