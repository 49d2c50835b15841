"""What schedules ask of the server: a thousand of which none is due, and a hundred that are due each second."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench.crew import pause
from bench.cron import peers
from bench.cron.contest import NODES, Contest, Party, named
from bench.cron.peers import OURS, SAQ
from bench.cron.plan import Plan
from bench.redis.line import HOST, line
from bench.rounds import Row

SENT, CPU, RAN, EACH = "commands", "CPU of the server", "runs", "commands of a run"
HALF_AN_HOUR = 30
SETTLING = 2.0
"""Seconds in which all have told the server what there is."""


@dataclass(frozen=True, slots=True)
class Load:
    """So many schedules, and for how long we look at what they ask for."""

    jobs: int
    span: float

    @property
    def idle(self) -> str:
        return f"{self.jobs:,} hourly schedules, {NODES} nodes"

    @property
    def due(self) -> str:
        return f"{self.jobs:,} jobs due each second, {NODES} nodes"


@dataclass(frozen=True, slots=True)
class Asked:
    """Of one server, in a second."""

    sent: float
    cpu: float = 0.0
    """Percent of a core."""
    runs: float = 0.0


def idle(contest: Contest, load: Load) -> list[Row]:
    """Nothing is due for the next half hour. All at once, as all but one hardly do anything then."""
    minute = (int(time.time() / 60) + HALF_AN_HOUR) % 60
    plan = Plan("", load.jobs, 0, minute=minute)
    found = _asked(contest, load.idle, peers.here(), plan=plan, span=load.span)
    sent = {who: Row(named(SENT, load.idle, who), [asked.sent / NODES], "/s a node") for who, asked in found.items()}
    if SAQ in sent:
        sent[OURS] = sent[OURS].beside(sent[SAQ])
    return [*sent.values(), *(Row(named(CPU, load.idle, who), [asked.cpu], "%") for who, asked in found.items())]


def due(contest: Contest, load: Load) -> list[Row]:
    """One after another, as each has a lot to do. Beside the one whose commands are for its schedules."""
    found: dict[str, Asked] = {}
    for system in peers.here():
        if system in {OURS, SAQ}:
            found |= _asked(contest, load.due, [system], plan=Plan("", load.jobs, 1), span=load.span)
    return [
        *(Row(named(RAN, load.due, who), [asked.runs], "/s") for who, asked in found.items()),
        *(Row(named(EACH, load.due, who), [asked.sent / asked.runs], "") for who, asked in found.items() if asked.runs),
        *(Row(named(CPU, load.due, who), [asked.cpu], "%") for who, asked in found.items()),
    ]


def _asked(contest: Contest, scene: str, systems: Sequence[str], *, plan: Plan, span: float) -> dict[str, Asked]:
    """What each of them does, once all have settled."""

    def asked(party: Party) -> Asked | None:
        return contest.told(scene, party, partial(_seen, span))

    with contest.held(scene, systems, plan) as parties, ThreadPoolExecutor() as lookers:
        pause(min(SETTLING, span))
        found = zip(parties, lookers.map(asked, parties), strict=True)
        return {party.system: one for party, one in found if one is not None}


def _seen(span: float, party: Party) -> Asked:
    """First what the server's processor does, then what is sent: to be shown all that costs it something."""
    with line(party.server.port) as control:
        before = _used(control)
        pause(span)
        cpu = (_used(control) - before) / span * 100
    ran = len(party.fleet.ran())
    came = sent(party.server.port, span)
    return Asked(came / span, cpu, (len(party.fleet.ran()) - ran) / span)


def _used(control: Any) -> float:
    told = control.info("cpu")
    used: float = told["used_cpu_user"] + told["used_cpu_sys"]
    return used


def sent(port: int, span: float) -> int:
    """How many commands came in, as MONITOR shows them; not what scripts do, which nobody has sent."""
    shown, until = bytearray(), time.monotonic() + span
    with socket.create_connection((HOST, port)) as monitor:
        monitor.sendall(b"MONITOR\r\n")
        while (left := until - time.monotonic()) > 0:
            monitor.settimeout(left)
            try:
                shown += monitor.recv(1 << 20)
            except TimeoutError:
                break
    return commands(bytes(shown))


def commands(shown: bytes) -> int:
    """How many of these lines tell of something that was sent; the first is the answer to MONITOR, the last is cut."""
    return sum(b" lua] " not in line.partition(b'"')[0] for line in shown.split(b"\r\n")[1:-1])
