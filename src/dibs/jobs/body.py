"""Which functions can be a job's body, and how they are called."""

from __future__ import annotations

from dataclasses import dataclass, replace
from inspect import Parameter, isasyncgenfunction, isfunction, isgeneratorfunction, signature
from types import MethodType
from typing import TYPE_CHECKING, Any

from dibs.errors import ConfigError
from dibs.model.function import Function

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dibs.run import Run

POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
FITTING = "a job's body takes a run, if it is called run or annotated dibs.Run, and arguments by their names"


@dataclass(frozen=True, slots=True)
class Body:
    """A function to be called for each run."""

    function: Callable[..., Any]
    about: Function
    is_method: bool
    """Whether it needs an instance first."""
    run: Parameter | None
    """What it calls its run, if it wants it."""
    place: int
    """How many it takes by position before the run."""
    takes: tuple[Parameter, ...]
    """Its other parameters, which a run's arguments fill by name."""

    @classmethod
    def of(cls, function: Any) -> Body:
        """What there is to know of this one; a `ConfigError` says why it cannot be a job's."""
        if fault := _fault(function):
            raise ConfigError(f"{function!r} cannot be a job: {fault}")
        about = Function.of(function)
        parameters = _parameters(function, about)
        is_method = _is_in_class(function) and _is_instance(parameters)
        left = parameters[1:] if is_method else parameters
        runs = [each for each in left if _is_run(each)]
        takes = tuple(each for each in left if each not in runs)
        if fault := _unfit(runs, takes):
            shown = ", ".join(str(each) for each in parameters)
            raise ConfigError(f"{about} cannot be a job: it takes ({shown}), but {fault}")
        run = runs[0] if runs else None
        return cls(function, about, is_method, run, left.index(run) if run else 0, takes)

    @property
    def name(self) -> str | None:
        """What it calls itself."""
        name = getattr(self.function, "__name__", None)
        return name if isinstance(name, str) and name != "<lambda>" else None

    @property
    def module(self) -> str:
        """Where it stands."""
        return str(getattr(self.function, "__module__", None) or "dibs")

    @property
    def needs(self) -> Sequence[str]:
        """The arguments that it cannot do without."""
        return [each.name for each in self.takes if each.kind in NAMED and each.default is Parameter.empty]

    def bound(self, instance: object) -> Body:
        """The same as a method of this instance."""
        return replace(self, function=MethodType(self.function, instance), is_method=False)

    def fault_of(self, arguments: Mapping[str, Any]) -> str | None:
        """Why it cannot be called with these, as a sentence; `None` if it can."""
        known = [each.name for each in self.takes if each.kind in NAMED]
        takes_all = len(known) < len(self.takes)
        for name in arguments:
            if self.run is not None and name == self.run.name:
                return f"{name!r} is its run, which it is given"
            if name not in known and not takes_all:
                return f"it takes no {name!r}; it takes {', '.join(known) or 'no arguments'}"
        missing = [repr(name) for name in self.needs if name not in arguments]
        return f"it needs {' and '.join(missing)}, which nobody has said" if missing else None

    def call(self, run: Run) -> Any:
        """Call it with the arguments of the run, and with the run if it wants it."""
        if fault := self.fault_of(run.arguments):
            raise TypeError(f"the arguments do not fit {self.about.name}: {fault}")
        return self.call_by_hand(run, (), run.arguments)

    def call_by_hand(self, run: Run, args: Sequence[Any], arguments: Mapping[str, Any]) -> Any:
        """Call it with what somebody has given; if it wants a run, and that is not among it, it gets this one."""
        if self.run is None or self.run.name in arguments:
            return self.function(*args, **arguments)
        if self.run.kind in POSITIONAL and len(args) >= self.place:
            return self.function(*args[: self.place], run, *args[self.place :], **arguments)
        return self.function(*args, **{**arguments, self.run.name: run})


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


def _unfit(runs: Sequence[Parameter], takes: Sequence[Parameter]) -> str | None:
    """What no run could fill."""
    if len(runs) > 1:
        return f"there is one run to be given, and not {len(runs)}: {', '.join(each.name for each in runs)}"
    for each in takes:
        if each.kind is Parameter.VAR_POSITIONAL:
            return f"{each} is filled by position, and {FITTING}: write them out, or take **kwargs"
        if each.kind is Parameter.POSITIONAL_ONLY:
            return f"{each.name!r} cannot be given by its name, and {FITTING}"
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
    return parameter.kind in (*POSITIONAL, *NAMED) and (parameter.name == "run" or is_annotated)


def _is_instance(parameters: Sequence[Parameter]) -> bool:
    """Whether the first may be one."""
    return bool(parameters) and parameters[0].kind in POSITIONAL and not _is_run(parameters[0])


def _is_in_class(function: object) -> bool:
    """Whether it stands in a class's body: there its first parameter is the instance."""
    parent = function.__qualname__.rpartition(".")[0] if isfunction(function) else ""
    return bool(parent) and not parent.endswith("<locals>")
