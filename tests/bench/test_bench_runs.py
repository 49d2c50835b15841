"""The benchmark runs, leaves nothing out, and leaves nothing behind. What it finds is for people to judge."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from bench import history, peers, quorum, schedules, topologies
from bench.cron import control, scale, skew
from bench.cron import peers as by_the_clock
from bench.redis import node, pingpong
from bench.redis.peers import (
    COREDIS,
    NODE,
    NOT_COMPARED,
    POTTERY,
    POTTERY_ASYNCIO,
    PYTHON_REDIS_LOCK,
    RAW_TASK,
    REDIS_PY,
    REDIS_PY_ASYNCIO,
    REDLOCK_PY,
    SHERLOCK,
    here,
)
from bench.redis.peers import missing as missing_on_redis
from bench.run import main
from tests.servers.kinds import REDIS, VALKEY_9

ROOT = Path(__file__).parents[2]

EMBEDDED = ["sqlite://", "sqlite:// asyncio"]
FLOORS = ["WAL write + datagram", "WAL write + datagram asyncio"]
ON_FILES = peers.installed()

RELATIVES = ("rwlock.read", "semaphore", "locked")


def family(where: str, *kinds: str) -> list[str]:
    return [f"family, {where}, {face}: {kind}" for face in ("1 thread", "1 task") for kind in kinds]


EMBEDDED_ROWS = [
    "start of bare Python",
    "start with import dibs",
    "start with a client",
    "import dibs",
    "third-party modules imported",
    *(
        f"cycle, {who}: {what}"
        for who in ("1 thread", "1 task", "16 tasks")
        for what in ("stdlib lock", "memory://", "flow alone")
    ),
    *(f"cycle, 1 process: {what}" for what in ("two WAL writes", *EMBEDDED, "memory://", *ON_FILES)),
    *family("sqlite", "lock", *RELATIVES),
    "cycle, fresh lock: empty store",
    "cycle, fresh lock: 200 held, 200 wait for one each",
    "cycle, fresh lock: 200 held, 200 wait for the same",
    *(
        f"{figure}, {who}: {what}"
        for who in ("8 threads", "64 tasks")
        for figure in ("hand-overs", "fairness")
        for what in ("stdlib lock", "memory://")
    ),
    *(
        f"{figure}, 8 processes, {section}: {what}"
        for section in ("1 ms", "empty")
        for figure, contenders in (
            ("hand-overs", [*FLOORS, *ON_FILES, *EMBEDDED]),
            ("fairness", [*ON_FILES, *EMBEDDED]),
            ("hand-over p50", [*FLOORS, *EMBEDDED]),
            ("hand-over p99", [*FLOORS, *EMBEDDED]),
        )
        for what in contenders
    ),
    *(f"CPU of 100 idle waiters: {what}" for what in (*ON_FILES, *EMBEDDED)),
    *(
        f"next, {expression}: {who}"
        for expression in ("*/5 * * * *", "0 3 * * *", "30 9 * * 1-5", "0 0 1 1 *")
        for who in ("dibs", *peers.installed(schedules.PEERS))
    ),
    "simulated worlds on one core",
]

EMBEDDED_TARGETS = [
    "import dibs",
    *(
        f"{figure}, 8 processes, 1 ms: {face}"
        for face in EMBEDDED
        for figure in ("hand-overs", "fairness", "hand-over p50")
    ),
    *(f"CPU of 100 idle waiters: {face}" for face in EMBEDDED),
    "cycle, fresh lock: 200 held, 200 wait for one each",
    "cycle, fresh lock: 200 held, 200 wait for the same",
    *family("sqlite", *RELATIVES),
    "next, */5 * * * *: dibs",
    "next, 0 3 * * *: dibs",
]

THREAD, TASK = "redis://", "redis:// asyncio"
THREADS = here([REDIS_PY, REDLOCK_PY, PYTHON_REDIS_LOCK, POTTERY, SHERLOCK, THREAD])
TASKS = here([REDIS_PY_ASYNCIO, POTTERY_ASYNCIO, COREDIS, TASK])
WITH_NODE = [NODE] if node.is_here() else []
PING_PONG = ["C ping-pong"] if pingpong.compiler() else []
TOGETHER, APART = "64 waiters", "64 waiters in 4 processes"

REDIS_ROWS = [
    *(
        row
        for who in ("1 task", "16 tasks", "256 tasks")
        for row in (
            *(f"cycles, {who}: {what}" for what in ("raw asyncio", *TASKS, *WITH_NODE)),
            *(f"CPU of a cycle, {who}: {what}" for what in ("raw asyncio", *TASKS, *WITH_NODE) if who == "256 tasks"),
            f"acquire p99, {who}: {TASK}",
        )
    ),
    *(
        row
        for who in ("1 thread", "8 threads")
        for row in (
            *(f"cycles, {who}: {what}" for what in ("raw socket", *THREADS)),
            f"acquire p99, {who}: {THREAD}",
        )
    ),
    *family("redis", "lock", *RELATIVES),
    *(
        f"{figure}, {TOGETHER}: {what}"
        for figure in ("hand-overs", "fairness", "hand-over p50", "hand-over p99")
        for what in (*(PING_PONG if figure != "fairness" else []), *THREADS, *TASKS)
    ),
    *(
        f"{figure}, {APART}: {what}"
        for figure in ("hand-overs", "fairness", "starved", "hand-over p50", "hand-over p99")
        for what in (*here([PYTHON_REDIS_LOCK]), THREAD, TASK)
    ),
    *(
        row
        for figure in ("commands", "CPU", "connections")
        for row in (
            f"{figure} of 20 idle waiters: {REDIS_PY_ASYNCIO}",
            f"{figure} of 50 idle waiters: {TASK}",
        )
    ),
    f"commands to renew and report 100 leases: {TASK}",
    f"CPU to renew and report 100 leases: {TASK}",
]

REDIS_TARGETS = [
    *(f"cycles, {who}: {TASK}" for who in ("1 task", "16 tasks", "256 tasks") for _ in (REDIS_PY_ASYNCIO, NODE)),
    *(f"cycles, {who}: {THREAD}" for who in ("1 thread", "8 threads") for _ in (REDIS_PY, REDLOCK_PY)),
    f"CPU of a cycle, 256 tasks: {TASK}",
    f"acquire p99, 1 task: {TASK}",
    f"acquire p99, 1 thread: {THREAD}",
    *(
        f"{figure}, {TOGETHER}: {face}"
        for face in (THREAD, TASK)
        for figure in ("hand-overs", "hand-overs", "hand-over p50")
    ),
    *(f"{figure}, {APART}: {face}" for face in (THREAD, TASK) for figure in ("hand-overs", "fairness", "starved")),
    *(f"{figure} of 50 idle waiters: {TASK}" for figure in ("commands", "CPU", "connections")),
    f"commands to renew and report 100 leases: {TASK}",
    f"CPU to renew and report 100 leases: {TASK}",
    *family("redis", *RELATIVES),
]

QUORUM_ROWS = [
    f"quorum of five, {count} at once: {what}"
    for count in (1, 16, 256)
    for what in (
        *here([RAW_TASK, quorum.TASK, POTTERY_ASYNCIO, quorum.THREAD, REDLOCK_PY]),
        *WITH_NODE,
        "redlock:// asyncio, one of five stopped",
    )
] + [f"quorum of five, 64 for one lock in 4 processes: {what}" for what in ("hand-overs", "longest pause")]
QUORUM_TARGETS = [
    *(f"quorum of five, {count} at once: redlock:// asyncio" for count in (1, 16, 256) for _ in range(3)),
    "quorum of five, 1 at once: redlock:// asyncio, one of five stopped",
    "quorum of five, 64 for one lock in 4 processes: longest pause",
]

BY_THE_CLOCK = by_the_clock.here()
NOW_DUE = [system for system in BY_THE_CLOCK if system in {"dibs", "saq"}]
CLOCKS = ["two clocks alike", "one clock 2 s behind"]
MANY = 100
IDLE, DUE = "50 hourly schedules, 2 nodes", "10 jobs due each second, 2 nodes"

CRON_ROWS = [
    *(
        f"{figure}, {clocks}: {system}"
        for clocks in (CLOCKS[:1] if skew.NONE else CLOCKS)
        for figure in ("runs", "runs of the second process", "ticks run again", "ticks missed")
        for system in BY_THE_CLOCK
    ),
    *(f"{figure}, {IDLE}: {system}" for figure in ("commands", "CPU of the server") for system in BY_THE_CLOCK),
    *(
        f"{figure}, {DUE}: {system}"
        for figure in ("runs", "commands of a run", "CPU of the server")
        for system in NOW_DUE
    ),
    *(
        f"{figure}, {nodes} on {store}: dibs"
        for store in ("redis", "sqlite")
        for nodes in ("1 node", "4 nodes")
        for figure in ("lateness p50", "lateness p99")
    ),
    *(scale.named(figure, scale.REDIS, MANY) for figure in scale.FIGURES),
    *(control.named(figure) for figure in control.FIGURES),
]

CRON_TARGETS = [
    *(f"{figure}, {clocks}: dibs" for clocks in CLOCKS for figure in ("ticks run again", "ticks missed")),
    f"commands, {IDLE}: dibs",
    f"commands, {IDLE}: dibs",
    *(scale.named(figure, scale.REDIS, MANY) for figure in (scale.STARTING, scale.IDLE, scale.CLAIMED)),
    *(control.named(figure) for figure in control.FIGURES),
]


class Printed(NamedTuple):
    """What a run has shown."""

    rows: Sequence[str]
    targets: Sequence[str]
    unmeasured: Sequence[str]
    notes: Sequence[str]


@pytest.mark.thorough
def test_a_quick_bench_of_the_embedded_store_has_a_row_for_every_scenario_and_a_verdict_for_every_target() -> None:
    printed = quick("embedded")
    assert printed.rows == EMBEDDED_ROWS
    assert printed.targets == EMBEDDED_TARGETS
    assert all(peer in printed.notes[-1] for peer in peers.missing((*peers.PEERS, *schedules.PEERS)))


@pytest.mark.skipif(not (VALKEY_9.program() or REDIS.program()), reason=VALKEY_9.missing)
@pytest.mark.thorough
def test_a_quick_bench_on_five_servers_has_a_row_for_every_scenario_and_a_verdict_for_every_target() -> None:
    printed = quick("quorum")
    assert printed.rows == QUORUM_ROWS
    assert printed.targets == QUORUM_TARGETS


@pytest.mark.skipif(not (VALKEY_9.program() or REDIS.program()), reason=VALKEY_9.missing)
@pytest.mark.thorough
def test_a_quick_bench_on_redis_has_a_row_for_every_scenario_and_a_verdict_for_every_target() -> None:
    printed = quick("redis")
    assert printed.rows == REDIS_ROWS
    assert printed.targets == REDIS_TARGETS
    assert NOT_COMPARED in printed.notes
    assert all(peer in printed.notes[-1] for peer in missing_on_redis())
    absent = [*missing_on_redis(), *([] if WITH_NODE else [NODE]), *([] if PING_PONG else ["C ping-pong"])]
    assert all(any(line.endswith(peer) for peer in absent) for line in printed.unmeasured)


@pytest.mark.skipif(not (VALKEY_9.program() or REDIS.program()), reason=VALKEY_9.missing)
@pytest.mark.thorough
def test_a_quick_bench_of_jobs_has_a_row_for_every_scenario_and_a_verdict_for_every_target() -> None:
    printed = quick("cron")
    assert printed.rows == CRON_ROWS
    assert printed.targets == CRON_TARGETS
    assert all(peer in printed.notes[-1] for peer in by_the_clock.missing())
    assert not [note for note in printed.notes if "dropped out" in note]


@pytest.mark.skipif(not (VALKEY_9.program() or REDIS.program()), reason=VALKEY_9.missing)
@pytest.mark.thorough
def test_a_quick_bench_of_histories_has_a_row_and_a_verdict_for_every_question_on_every_store() -> None:
    printed = quick("history")
    stores = (history.REDIS, history.SQLITE)
    rows = [history.named(each, history.QUICK, store) for store in stores for each in history.questions(history.QUICK)]
    assert (printed.rows, printed.targets, printed.unmeasured) == (rows, rows, [])


@pytest.mark.skipif(not (VALKEY_9.program() or REDIS.program()), reason=VALKEY_9.missing)
@pytest.mark.thorough
def test_a_quick_bench_on_several_servers_has_a_verdict_for_every_scenario() -> None:
    printed = quick("topologies")
    rows = [(each, where) for each in topologies.SCENARIOS for pair in each.pairs.items() for where in pair[::-1]]
    assert printed.rows == [topologies.named(*row) for row in rows]
    wanted = [topologies.named(each, where) for each in topologies.SCENARIOS for where in topologies.BESIDE]
    assert (printed.targets, printed.unmeasured) == (wanted, [])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only", "sqlite"], "invalid choice: 'sqlite'"),
        (["--only", "redis", "--write"], "full run"),
        (["--quick", "--write"], "full run"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused_before_anything_is_measured(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        main(words)
    assert refused.value.code == 2
    assert said in capsys.readouterr().err


def quick(part: str) -> Printed:
    with TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "bench", "--quick", "--only", part],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": folder},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert not list(Path(folder).iterdir())
    figures, targets, *notes = (part.splitlines() for part in done.stdout.split("\n\n"))
    assert figures[0].split() == ["name", "figure", "unit", "spread", "ratio", "to"]
    assert targets[0].split() == ["target", "wanted", "found", "verdict", "to"]
    unmeasured = [line for line in targets if "not measured" in line]
    return Printed(_names(figures[1:]), _names(targets[1:]), unmeasured, [line for note in notes for line in note])


def _names(lines: list[str]) -> list[str]:
    return [line.partition("  ")[0] for line in lines]
