"""The example of source 003, run as a reader would run it: its output, workers that die or stand still, and figures."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import groupby, pairwise
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

import dibs
from examples.locking_worker.__main__ import options
from examples.locking_worker.figures import percentile, takeovers
from examples.locking_worker.messages import Tried
from tests.chaos.stage import LONG, ROOT
from tests.examples.fleets import Fleet, environment
from tests.servers.fixtures import on_valkey_9, there
from tests.servers.kinds import VALKEY_9, Kind
from tests.servers.ports import HOST, Port
from tests.servers.server import Server

ROUNDS = int(os.environ.get("WORKER_ROUNDS", "200"))
"""So many on a server; on a file a quarter of them, as they are many more than are needed."""
WORKERS, MAX_ATTEMPTS = 8, 5
SOON = 50.0
"""Milliseconds in which half of all failures are to be taken over."""

LINES = (
    r"is process \d+",
    "failed to do work",
    "did not acquire lock",
    "completed work successfully, last attempt[?] (true|false)",
    "gives up: nobody had better luck",
    r"Status message from lock: Work was not completed in \d attempts, giving up",
    r"Status message from lock: Checking status of work from attempt #\d",
    r"Status message from lock: Work was not completed, trying to reacquire lock for attempt #\d",
    "Status message from lock: Trying to reacquire lock",
    r"Status message from lock: Current attempt count: \d",
    r"Status message from lock: This is attempt #\d",
    r"Status message from lock: Attempt count has been incremented .expected \d, but it's \d., someone else got .*",
    "Status message from lock: Work completed successfully by primary process, deleting lock",
    "Status message from lock: Lock key is gone, someone else completed the work and deleted the lock",
)
"""All that a worker says, in the words of the document, if nothing goes wrong but its work."""


class Entry(NamedTuple):
    what: str
    round: int
    attempt: int
    worker: int
    fence: int


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path, shared_servers: Callable[[Kind], Server]) -> str:
    """Of the store that a test names by `mostly_on`."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/dibs.sqlite"
    server = shared_servers(there(VALKEY_9))
    server.flush()
    return server.url


def mostly_on(store: str, *others: str) -> pytest.MarkDecorator:
    """On this store; on the others only where there is time."""
    more = [pytest.param(other, marks=pytest.mark.thorough) for other in others]
    return pytest.mark.parametrize("url", [store, *more], indirect=True)


def cluster(folder: Path, url: str, **said: object) -> Fleet:
    """The program, on that store; what is said goes by the environment."""
    env = {name.upper(): str(value) for name, value in said.items()}
    return Fleet(
        "examples.locking_worker",
        *("--ledger", str(folder / "ledger.sqlite")),
        env=environment(folder, DIBS_URL=url, **env),
    )


def entries(folder: Path) -> list[Entry]:
    """The ledger, in the order in which it was written."""
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as ledger:
        return [Entry(*row) for row in ledger.execute("SELECT * FROM entries ORDER BY rowid")]


def story(entries: Sequence[Entry]) -> list[tuple[str, int, int]]:
    """The same of one round: what, at which attempt, by whom."""
    return [(entry.what, entry.attempt, entry.worker) for entry in entries]


def each_round_is_done_once_or_out_of_attempts(written: Sequence[Entry], *, rounds: int) -> int:
    """How many are done; all by what the ledger says, which dibs does not write."""
    begun = [entry for entry in written if entry.what == "begun"]
    assert all(before.fence < after.fence for before, after in pairwise(begun))
    by_round = {number: list(found) for number, found in groupby(written, key=lambda entry: entry.round)}
    assert list(by_round) == list(range(1, rounds + 1)), "no round is written to when the next has begun"
    for of_round in by_round.values():
        told = [(entry.what, entry.attempt) for entry in of_round]
        last = len(told) // 2
        assert 1 <= last <= MAX_ATTEMPTS
        failed = [(what, attempt) for attempt in range(1, last) for what in ("begun", "failed")]
        end = "done" if told[-1][0] == "done" else "failed"
        assert told == [*failed, ("begun", last), (end, last)]
        assert end == "done" or last == MAX_ATTEMPTS
    return sum(entry.what == "done" for entry in written)


def number(worker: str) -> int:
    return int(worker.removeprefix("Worker "))


def the_document_is_right(lines: list[str], *, workers: int = WORKERS) -> None:
    """Each line is one of its lines, and the story that they tell is of one round."""
    *told, end, rounds, attempts, spans = lines if "Taken over" in lines[-1] else [*lines, ""]
    for line in told:
        assert any(re.fullmatch(rf"Worker \d+ {words}", line) for words in LINES), line
    spoken = [line.split(" ", 2) for line in told]
    assert {int(worker) for _, worker, words in spoken if words.startswith("is process")} == set(range(1, workers + 1))
    refused = {worker for _, worker, words in spoken if words == "did not acquire lock"}
    assert len(refused) >= workers - 1
    failed = sum(words == "failed to do work" for _, _, words in spoken)
    done = sum(words.startswith("completed work successfully") for _, _, words in spoken)
    numbers = [int(words[-1]) for _, _, words in spoken if "This is attempt" in words]
    assert sorted(numbers) == list(range(2, failed + done + 1)) == numbers
    assert (done, failed) == (1, len(numbers)) or (done, failed) == (0, MAX_ATTEMPTS)
    assert end == f"Round 1 is {'done' if done else 'out of attempts'}"
    assert rounds == f"Rounds: 1, of them {done} done and {1 - done} out of attempts"
    assert attempts == f"Attempts: {failed + done}, of them {done} done, {failed} failed and 0 lost"
    assert bool(spans) == (failed + done > 1)


def lines_of_the_program(folder: Path, **said: str) -> list[str]:
    ended = subprocess.run(
        [sys.executable, "-m", "examples.locking_worker"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment(folder, **said),
        timeout=2 * LONG,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout.splitlines()


def test_the_command_of_the_readme_tells_the_story_of_the_document_without_redis(tmp_path: Path) -> None:
    assert "\npython -m examples.locking_worker\n" in (ROOT / "examples" / "locking_worker" / "README.md").read_text()
    the_document_is_right(lines_of_the_program(tmp_path))
    assert list((tmp_path / "state").rglob("dibs.sqlite")), "they share the store of this machine"


@on_valkey_9
def test_and_the_same_with_redis(server: Server, tmp_path: Path) -> None:
    where = {"REDIS_HOST": HOST, "REDIS_PORT": str(server.port)}
    the_document_is_right(lines_of_the_program(tmp_path, **where, WORKERS="3"), workers=3)
    assert not (tmp_path / "state").exists()


@mostly_on("valkey", "sqlite")
def test_a_killed_worker_is_taken_over_and_started_again(url: str, tmp_path: Path) -> None:
    with cluster(tmp_path, url, workers=3, rounds=2, success_chance=1, take=1, lock_timeout=2) as fleet:
        dead = fleet.hear(r"(Worker \d) is at work on attempt #1")[1]
        fleet.kill(dead)
        fleet.hear(rf"{dead} is process \d+")
        heir = fleet.hear(r"(Worker \d) is at work on attempt #2")[1]
        fleet.hear(f"{heir} completed work successfully, last attempt[?] false")
        fleet.hear("Rounds: 2, of them 2 done and 0 out of attempts")
        fleet.hear("Attempts: 3, of them 2 done, 0 failed and 1 lost")
    first, second = ([entry for entry in entries(tmp_path) if entry.round == played] for played in (1, 2))
    assert story(first) == [("begun", 1, number(dead)), ("begun", 2, number(heir)), ("done", 2, number(heir))]
    assert [(entry.what, entry.attempt) for entry in second] == [("begun", 1), ("done", 1)]
    assert outcomes(url) == ["lost", "ok", "ok"]


@pytest.mark.thorough
@mostly_on("sqlite", "valkey")
def test_what_a_worker_says_does_not_count_if_it_stood_still_until_another_took_over(url: str, tmp_path: Path) -> None:
    with cluster(tmp_path, url, workers=3, success_chance=1, take=2.5, lock_timeout=2) as fleet:
        late = fleet.hear(r"(Worker \d) is at work on attempt #1")[1]
        with fleet.paused(late):
            heir = fleet.hear(r"(Worker \d) is at work on attempt #2")[1]
        fleet.hear_all({f"{late} comes too late: .*", f"{heir} completed work successfully, last attempt[?] false"})
        fleet.hear("Rounds: 1, of them 1 done and 0 out of attempts")
        assert not any(line.startswith(f"{late} completed") for line in fleet.lines)
    assert story(entries(tmp_path)) == [
        ("begun", 1, number(late)),
        ("begun", 2, number(heir)),  # for longer than a lock_timeout, and not overtaken: it lives
        ("done", 2, number(heir)),
    ]
    assert outcomes(url) == ["lost", "ok"]


@pytest.mark.thorough
def test_without_its_redis_it_says_so_and_ends_when_it_is_asked(tmp_path: Path) -> None:
    with (
        closing(Port()) as nobody_s,
        cluster(tmp_path, f"redis://{HOST}:{nobody_s.number}", workers=2, dibs_patience="1s") as fleet,
    ):
        fleet.hear(r"Worker \d Error from lock: no word from redis://.*")
        assert "Rounds: 0, of them 0 done and 0 out of attempts" in fleet.ends()


def outcomes(url: str) -> list[str]:
    """Of all attempts, as dibs has them in its history, oldest first."""
    with dibs.connect(url, quiet=True) as d:
        return [view.outcome for view in reversed(d.runs("mylock"))]


@pytest.mark.thorough
@pytest.mark.parametrize(("url", "rounds"), [("valkey", ROUNDS), ("sqlite", ROUNDS // 4)], indirect=["url"])
def test_a_failed_attempt_is_taken_over_at_once_and_every_round_is_done_once_or_given_up(
    url: str, rounds: int, tmp_path: Path
) -> None:
    with cluster(tmp_path, url, workers=WORKERS, rounds=rounds) as fleet:
        for played in range(1, rounds + 1):
            fleet.hear(f"Round {played} is (done|out of attempts)")
        found = fleet.hear(rf"Rounds: {rounds}, of them (\d+) done and (\d+) out of attempts")
        spans = fleet.hear(r"Taken over after a failed attempt: p50 (.+) ms, p99 (.+) ms, of \d+")
        print(*fleet.lines[-3:], sep="\n")
    done = each_round_is_done_once_or_out_of_attempts(entries(tmp_path), rounds=rounds)
    assert done == int(found[1])
    assert done + int(found[2]) == rounds
    assert 0.3 < done / rounds < 0.8, "about 1 - 0.85 ** 5"
    assert float(spans[1]) < SOON


def test_a_takeover_is_counted_from_a_failure_to_the_very_next_attempt() -> None:
    def tried(attempt: int, outcome: Literal["done", "failed", "late"]) -> Tried:
        return Tried(1, attempt, began_at=10.0 * attempt, ended_at=10.0 * attempt + attempt, outcome=outcome)

    told = [tried(5, "done"), tried(1, "failed"), tried(2, "late"), tried(3, "failed"), tried(4, "failed")]
    assert list(takeovers(told)) == [20 - 11, 40 - 33, 50 - 44]
    assert list(takeovers([tried(1, "failed"), tried(3, "done")])) == []


def test_the_percentile_is_a_value_that_so_many_do_not_exceed() -> None:
    values = [float(number) for number in reversed(range(1, 101))]
    assert (percentile(values, 0.5), percentile(values, 0.99), percentile([7.0], 0.99)) == (50, 99, 7)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--success-chance", "15%"], "15%"),
        (["--success-chance", "2"], "'2' is not from 0 to 1"),
        (["--workers", "0"], "'0' is no whole number from 1 up"),
        (["--take", "inf"], "'inf' is no time"),
    ],
)
def test_what_makes_no_sense_is_refused(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        options(words)
    assert says in capsys.readouterr().err
