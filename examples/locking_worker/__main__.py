"""Starts the cluster: `python -m examples.locking_worker`, from the root of the repository."""

from __future__ import annotations

import os
import secrets
import signal
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

from examples.locking_worker.figures import summary
from examples.locking_worker.ledger import Ledger
from examples.locking_worker.messages import Terms
from examples.locking_worker.primary import GivenUp, Primary, Round, WorkerFailed

AT_LEAST = 8
"""So many workers are there, also on a machine with fewer cores."""


def main() -> int:
    """Play all rounds, and say what came of them."""
    said = options(sys.argv[1:])
    with TemporaryDirectory() as folder:
        ledger = said.ledger or Path(folder, "ledger.sqlite")
        terms = Terms(said.success_chance, said.seed, said.take, said.max_attempts, said.lock_timeout, ledger)
        try:
            return play(terms, workers=said.workers, rounds=said.rounds)
        except WorkerFailed as failed:
            print(failed, file=sys.stderr)
            return 1


def play(terms: Terms, *, workers: int, rounds: int) -> int:
    """Round after round; whoever asks us to end is heard after the one that is on, and at once if asking again."""
    asked = list[int]()

    def ask(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        asked.append(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, ask)
    played = list[Round]()
    with Ledger(terms.ledger) as ledger:
        with suppress(GivenUp), Primary(terms, workers, asked) as primary:
            while len(played) < rounds and not asked:
                played.append(primary.play(len(played) + 1))
        print(*summary(played, ledger.count()), sep="\n", flush=True)
    return 0


def options(words: Sequence[str]) -> Namespace:
    """What was said by words, or else by the environment."""
    parser = ArgumentParser(prog="python -m examples.locking_worker", description="Workers that take over.")

    def add(word: str, kind: Callable[[str], object], default: object, text: str) -> None:
        variable = word.upper().replace("-", "_")
        said = os.environ.get(variable) or str(default)
        parser.add_argument(f"--{word}", type=kind, default=said, metavar="N", help=f"{text} (or {variable})")

    add("workers", whole, max(AT_LEAST, os.cpu_count() or 1), "so many processes: one a core, at least 8")
    add("rounds", whole, 1, "so often is the work to be done: 1")
    add("success-chance", chance, 0.15, "that an attempt succeeds: 0.15")
    add("seed", int, secrets.randbits(32), "the same luck again, for whoever tries the same")
    add("take", seconds, 0, "how many seconds an attempt lasts: 0")
    add("max-attempts", whole, 5, "so often is it tried in a round: 5")
    add("lock-timeout", seconds, 5, "so many seconds is a dead worker waited for: 5")
    parser.add_argument("--ledger", type=Path, metavar="FILE", help="where to write down what was done, to keep it")
    return parser.parse_args(words)


def whole(text: str) -> int:
    """A number of things."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no whole number from 1 up")
    return int(text)


def chance(text: str) -> float:
    """A share of all cases."""
    if not 0 <= float(text) <= 1:
        raise ArgumentTypeError(f"{text!r} is not from 0 to 1")
    return float(text)


def seconds(text: str) -> float:
    """A time that ends."""
    if not 0 <= float(text) < inf:
        raise ArgumentTypeError(f"{text!r} is no time: give seconds, as in 2.5")
    return float(text)


if __name__ == "__main__":
    sys.exit(main())
