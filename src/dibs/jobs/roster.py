"""The jobs of one client: each has a name that no other has."""

from __future__ import annotations

from inspect import getattr_static
from typing import TYPE_CHECKING, Any, TypeGuard

from dibs.errors import ConfigError
from dibs.job import Job, JobMethod

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.jobs.body import Body


class Roster:
    """Jobs by name, and to which instance the methods among them are bound."""

    def __init__(self) -> None:
        self._kept: dict[str, Job[Any] | JobMethod[Any, Any]] = {}
        self._instances: dict[str, object] = {}

    def add(self, job: Job[Any] | JobMethod[Any, Any]) -> None:
        """Note a job; `ConfigError` if there is another of that name."""
        known = self._kept.get(job.name)
        if known is not None and not _is_loaded_again(known.body, job.body):
            raise ConfigError(
                f"there are two jobs called {job.name!r}: {known.body.about} and {job.body.about}; nobody could tell "
                "their ticks apart: give one of them a name of its own with name="
            )
        self._kept[job.name] = job
        self._instances.pop(job.name, None)

    def bind(self, instance: object) -> None:
        """From now on the methods of this instance that have a schedule are jobs."""
        found = [method for method in _methods(instance) if self._kept.get(method.name) is method]
        if not found:
            raise ConfigError(
                f"bind(<{type(instance).__qualname__}>): none of its methods has a schedule of this client; put "
                "@d.cron(...) or @d.every(...) above one"
            )
        for method in found:
            if self._instances.get(method.name, instance) is not instance:
                raise ConfigError(
                    f"the job {method.name!r} ({method.body.about}) is bound to an instance already: each tick is run "
                    "once, by one of them. Bind one, or let its method do the work of both"
                )
        self._instances.update({method.name: instance for method in found})

    def jobs(self) -> Sequence[Job[Any]]:
        """Those that can be run."""
        each = (self._ready(job) for job in self._kept.values())
        return [job for job in each if job is not None]

    def body_of(self, name: str) -> Body | None:
        """What the job of that name does, bound or not; `None` if there is none."""
        job = self._kept.get(name)
        return None if job is None else job.body

    def unbound(self) -> Sequence[JobMethod[Any, Any]]:
        """Those that cannot: methods of nobody."""
        return [job for name, job in self._kept.items() if isinstance(job, JobMethod) and name not in self._instances]

    def _ready(self, job: Job[Any] | JobMethod[Any, Any]) -> Job[Any] | None:
        if isinstance(job, Job):
            return job
        instance = self._instances.get(job.name)
        return None if instance is None else Job(job.plan, job.body.bound(instance))


def _is_loaded_again(known: Body, body: Body) -> bool:
    """Whether it is the same function once more, of a module that was loaded again."""
    is_global = "<locals>" not in body.about.name
    return is_global and known.about == body.about and known.function is not body.function


def _methods(instance: object) -> Sequence[JobMethod[Any, Any]]:
    """In the order of their names; of several classes', those that the instance really has."""
    found = (getattr_static(type(instance), name, None) for name in dir(type(instance)))
    return [method for method in found if _is_method(method)]


def _is_method(found: object) -> TypeGuard[JobMethod[Any, Any]]:
    return isinstance(found, JobMethod)
