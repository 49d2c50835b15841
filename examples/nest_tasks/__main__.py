"""Starts the workers: `python -m examples.nest_tasks --every 2s --take 2.5`, from the root of the repository."""

from __future__ import annotations

import logging
import os
import sys
from argparse import ArgumentParser

from dibs.events import CallAdmitted, CallSkipped, RunEnded
from examples.fleet import side_by_side


def main() -> int:
    """All the workers, or, if it was told its number, one of them."""
    parser = ArgumentParser(prog="python -m examples.nest_tasks", description="Scheduled tasks, each on one worker.")
    parser.add_argument("--instances", type=int, default=3, metavar="N", help="so many workers (3)")
    parser.add_argument("--instance", metavar="NUMBER", help="be one worker, for instance one on another machine")
    parser.add_argument("--every", metavar="2s", help="instead of all schedules (or TASKS_EVERY)")
    parser.add_argument("--take", type=float, metavar="SECONDS", help="how long each task lasts: 1 (or TASKS_TAKE)")
    said = parser.parse_args()
    for variable, value in {"TASKS_EVERY": said.every, "TASKS_TAKE": said.take}.items():
        if value is not None:
            os.environ[variable] = str(value)
    if said.instance is None:
        return side_by_side("examples.nest_tasks", called="Worker Instance", count=said.instances)
    work(said.instance)
    return 0


def work(instance: str) -> None:
    """One worker, until it is asked to end."""
    speak_as(f"Worker Instance {instance}")
    from examples.nest_tasks.tasks import TasksService, d  # noqa: PLC0415 - by now it is known how often they are due

    with d:
        d.bind(TasksService())
        d.serve()


def speak_as(who: str) -> None:
    """Every line says who speaks, and of what: locks, tasks, or the rest of dibs."""
    handler = logging.StreamHandler(sys.stdout)
    handler.addFilter(_say_of_what)
    logging.basicConfig(level=logging.INFO, handlers=[handler], format=f"{who}: [%(topic)s] %(message)s")


def _say_of_what(record: logging.LogRecord) -> bool:
    event = getattr(record, "event", None)
    record.topic = "DistributedLock" if isinstance(event, CallAdmitted | CallSkipped) else record.name
    return not isinstance(event, RunEnded)  # the history has it, and the tasks say it themselves


if __name__ == "__main__":
    sys.exit(main())
