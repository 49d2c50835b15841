"""Which functions can be a job's body, and how they are called."""

from __future__ import annotations

from dataclasses import dataclass, replace
from inspect import Parameter, isasyncgenfunction, isfunction, isgeneratorfunction, signature
from types import MethodType
from typing import TYPE_CHECKING, Any

from dibs.errors import ConfigError
from dibs.model.function import Function

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.run import Run

POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
FITTING = "a job's body takes nothing, or one parameter that is called run or annotated dibs.Run"


@dataclass(frozen=True, slots=True)
class Body:
    """A function to be called for each run."""

    function: Callable[..., Any]
    about: Function
    is_method: bool
    """Whether it needs an instance first."""
    wants_run: bool

    @classmethod
    def of(cls, function: Any) -> Body:
        """What there is to know of this one; a `ConfigError` says why it cannot be a job's."""
        if fault := _fault(function):
            raise ConfigError(f"{function!r} cannot be a job: {fault}")
        about = Function.of(function)
        parameters = _parameters(function, about)
        is_method = bool(parameters) and not _is_run(parameters[0]) and _is_in_class(function)
        left = parameters[1:] if is_method else parameters
        if len(left) > 1 or any(each.kind not in POSITIONAL or not _is_run(each) for each in left):
            takes = ", ".join(str(each) for each in parameters)
            raise ConfigError(f"{about} cannot be a job: it takes ({takes}), and {FITTING}")
        return cls(function, about, is_method, wants_run=bool(left))

    @property
    def name(self) -> str | None:
        """What it calls itself."""
        name = getattr(self.function, "__name__", None)
        return name if isinstance(name, str) and name != "<lambda>" else None

    @property
    def module(self) -> str:
        """Where it stands."""
        return str(getattr(self.function, "__module__", None) or "dibs")

    def bound(self, instance: object) -> Body:
        """The same as a method of this instance."""
        return replace(self, function=MethodType(self.function, instance), is_method=False)

    def call(self, run: Run) -> Any:
        """Call it, with the run if it wants it."""
        return self.function(run) if self.wants_run else self.function()


def _fault(function: object) -> str | None:
    if isinstance(function, staticmethod | classmethod):
        return "put the schedule right above the def, and @staticmethod above the schedule"
    if isinstance(function, type):
        return "it is a class: schedule one of its methods, and bind an instance with d.bind(...)"
    if not callable(function):
        return "it is no function; write the schedule first, as in @d.every('90s')"
    if isgeneratorfunction(function) or isasyncgenfunction(function):
        return "it is a generator, and calling it would run nothing of it: let it loop by itself"
    return None


def _parameters(function: Callable[..., Any], about: Function) -> Sequence[Parameter]:
    try:
        return list(signature(function).parameters.values())
    except (TypeError, ValueError):
        raise ConfigError(f"{about} cannot be a job: it does not say what it takes, and {FITTING}") from None


def _is_run(parameter: Parameter) -> bool:
    """By its name or its annotation, which may be text."""
    said = parameter.annotation
    name = said if isinstance(said, str) else getattr(said, "__name__", "")
    is_annotated = name.rpartition(".")[2] == "Run" and (isinstance(said, str) or said.__module__ == "dibs.run")
    return parameter.name == "run" or is_annotated


def _is_in_class(function: object) -> bool:
    """Whether it stands in a class's body: there its first parameter is the instance."""
    parent = function.__qualname__.rpartition(".")[0] if isfunction(function) else ""
    return bool(parent) and not parent.endswith("<locals>")
