"""All that is measured on this machine alone: starting up, locks in memory and in a file, beside those on files."""

from __future__ import annotations

from dataclasses import dataclass

from bench import contention, crowd, cycles, family, idle, importing, peers, processes, schedules, targets, worlds
from bench.rounds import Effort, Row
from bench.section import Section


@dataclass(frozen=True, slots=True)
class Efforts:
    """How much time goes into which figures."""

    cycles: Effort
    contention: Effort
    processes: Effort
    idle: Effort
    crowd: int
    """How many hold locks and wait for them while we measure."""


QUICK = Efforts(Effort(3, 0.03), Effort(3, 0.15), Effort(2, 0.15), Effort(1, 0.2), crowd=200)
FULL = Efforts(Effort(15, 0.2), Effort(9, 0.8), Effort(5, 2.0), Effort(3, 10.0), crowd=10_000)


def section(efforts: Efforts) -> Section:
    """Measure, judge and tell."""
    wanted = [*targets.embedded(efforts.crowd), *family.targets(family.FILE), *schedules.targets()]
    others = (*peers.PEERS, *schedules.PEERS)
    beside, missing = peers.versions(others), peers.missing(others)
    return Section(_measured(efforts), wanted, beside=beside, missing=missing)


def _measured(efforts: Efforts) -> list[Row]:
    return [
        *importing.rows(rounds=efforts.cycles.rounds * 2),
        *cycles.rows(efforts.cycles),
        *family.on_a_file(efforts.cycles),
        *crowd.rows(efforts.cycles, efforts.crowd),
        *contention.rows(efforts.contention),
        *processes.rows(efforts.processes),
        *idle.rows(efforts.idle),
        *schedules.rows(efforts.cycles),
        *worlds.rows(efforts.contention),
    ]
