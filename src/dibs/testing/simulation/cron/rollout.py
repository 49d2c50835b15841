"""Watches which code's word holds, while nodes of several deployments come and go.

C11 what code says of a schedule is said once for each deployment that comes or goes; a schedule is not retired that a
live node's code defines. Once all is well, each is as the code deployed last says, of that which runs somewhere, unless
people have changed it; and what no such code defines is retired.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dibs.flows.sheets import readable
from dibs.model.fleet import BEAT, DEPLOYMENT, DOWN_AFTER, deployment_on
from dibs.model.sheet import Sheet

if TYPE_CHECKING:
    from dibs.model.definition import Deployment
    from dibs.model.job import Job
    from dibs.model.record import Act
    from dibs.testing.simulation.cron.almanac import Judge
    from dibs.testing.simulation.cron.node import Node
    from dibs.testing.simulation.cron.programs import Program
    from dibs.testing.simulation.cron.server import CronServer

FORGOTTEN_AFTER = DOWN_AFTER + 2 * BEAT + 3
"""By then all know of a node that is no more, and have seen to its schedules."""
HEARD_WITHIN = 2 * BEAT + 5
"""Who has been heard for so long is known to all."""


class Rollout:
    """The nodes of a world by their programs."""

    def __init__(self, judge: Judge, server: CronServer, nodes: Mapping[str, Node]) -> None:
        self._judge, self._server, self._nodes = judge, server, nodes
        self._said: Counter[str] = Counter()
        self._turns = 0
        self._deceived_at = -1.0

    def comes(self, program: Program) -> None:
        """A node starts."""
        if not any(node.program.version == program.version for node in self._present()):
            self._turns += 2  # it comes, and will go

    def deceived(self) -> None:
        """The store has forgotten something, or its clock was set."""
        self._deceived_at = self._server.agenda.now
        self._turns += 4

    def saw_act(self, job: Job, act: Act) -> None:
        """What a node has done to a schedule, as its code says so."""
        if act.by not in self._nodes:
            return
        self._said[job.name] += 1
        if self._said[job.name] > self._turns:
            what = f"{self._said[job.name]} times, and {self._turns} at the most came and went"
            self._judge.fault("C11", f"{job.name} was {act.act} by {act.by}: what code says of it changed {what}")
        if act.act == "retired":
            self._judge_retired(job)

    def _judge_retired(self, job: Job) -> None:
        now = self._server.agenda.now
        if now < self._deceived_at + DOWN_AFTER:
            return
        for node in self._present():
            was_heard = node.first_answered < now - HEARD_WITHIN and node.answered_since > now - BEAT
            if was_heard and job.name in node.program.deployment.definitions:
                self._judge.fault("C11", f"{job.name} was retired, though the code of {node.process.name} defines it")

    def judge_remains(self) -> None:
        """When all has been well for so long that whoever is gone is known to be."""
        jobs = {job.name: job for job in readable(list(self._server.jobs.kept.values()))}
        programs = {node.program.deployment.digest: node.program for node in self._present()}
        deployed = self._deployed(list(programs))
        if not deployed:
            return
        for name in {name for each in deployed for name in each.definitions}:
            said = [each for each in deployed if name in each.definitions]
            latest = max(said, key=lambda each: (each.seen_at, each.digest))
            self._judge_held(jobs.get(name), name, latest)
        for job in jobs.values():
            is_orphan = job.backfill is None and job.origin == "code" and job.gone is None
            if is_orphan and not any(job.name in each.definitions for each in deployed):
                self._judge.fault("C11", f"{job.name} is not retired, and no live node's code defines it")

    def _judge_held(self, job: Job | None, name: str, latest: Deployment) -> None:
        if job is None or job.gone is not None:
            self._judge.fault("C11", f"{name} is gone, though the code of a live node defines it")
        elif job.origin == "code" and job.code != latest.definitions[name]:
            self._judge.fault("C11", f"{name} is by {job.rule!r}, which is not what the code deployed last says")

    def _deployed(self, digests: Sequence[str]) -> Sequence[Deployment]:
        kept = self._server.jobs.kept
        sheets = [kept.get(DEPLOYMENT + digest) for digest in digests]
        if None in sheets:
            self._judge.fault("C11", "the deployment of a live node is not known")
        return [deployment_on(sheet) for sheet in sheets if isinstance(sheet, Sheet)]

    def _present(self) -> Sequence[Node]:
        nodes = self._nodes.values()
        return [node for node in nodes if not (node.process.is_dead or node.is_told_to_leave)]
