"""Functions that run under a lock, and those that are skipped where others are at work."""

from __future__ import annotations

from functools import partial, wraps
from inspect import iscoroutine, signature
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeVar, Unpack, overload
from warnings import warn

from dibs.admission import RETRY_DELAY, Admission, Manner, OnConflict
from dibs.errors import ConfigError
from dibs.lock import Lock
from dibs.model.duration import Duration, seconds
from dibs.model.function import Function, guard_fault
from dibs.model.names import lock_fault
from dibs.options import JobOptions, LockOptions, refuse_unknown, request
from dibs.skipped import Skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from dibs.config import Config
    from dibs.model.policy import OnOutageOfJob
    from dibs.model.template import Args, Kwargs, Template
    from dibs.runtime.engine import Engine

T = TypeVar("T")
P = ParamSpec("P")
Owner = TypeVar("Owner")
Kept = TypeVar("Kept", bound="Callable[..., object] | classmethod[Any, ..., Any]")

TTL = 60.0

_BESIDE = frozenset({"on_conflict", "retries", "retry_delay"})
"""What can be said beside a lock's own keywords."""
_METHODS: tuple[Any, ...] = (staticmethod, classmethod)


class Locks(Protocol):
    """A decorator that leaves the function's type as it is."""

    def __call__(self, function: Kept, /) -> Kept:
        """Put the lock around it."""
        ...


class Skips(Protocol):
    """A decorator of functions that give `Skipped` where somebody else has the lock."""

    @overload
    def __call__(
        self, function: classmethod[Owner, P, Coroutine[Any, Any, T]], /
    ) -> classmethod[Owner, P, Coroutine[Any, Any, T | Skipped]]: ...
    @overload
    def __call__(self, function: classmethod[Owner, P, T], /) -> classmethod[Owner, P, T | Skipped]: ...
    @overload
    def __call__(
        self, function: staticmethod[P, Coroutine[Any, Any, T]], /
    ) -> staticmethod[P, Coroutine[Any, Any, T | Skipped]]: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]  # a static method can be called, too, but is more than that
        self, function: staticmethod[P, T], /
    ) -> staticmethod[P, T | Skipped]: ...
    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, T]], /
    ) -> Callable[P, Coroutine[Any, Any, T | Skipped]]: ...
    @overload
    def __call__(self, function: Callable[P, T], /) -> Callable[P, T | Skipped]: ...


class Locked:
    """What a client does for whole functions."""

    _engine: Engine
    config: Config
    _constants: dict[str, Function]
    """Which function has a name that is the same for all its calls."""

    @overload
    def locked(
        self,
        template: str,
        *,
        on_conflict: Literal["raise"] = "raise",
        retries: int = 0,
        retry_delay: Duration = RETRY_DELAY,
        **options: Unpack[LockOptions],
    ) -> Locks: ...
    @overload
    def locked(
        self,
        template: str,
        *,
        on_conflict: Literal["skip"],
        retries: int = 0,
        retry_delay: Duration = RETRY_DELAY,
        **options: Unpack[JobOptions],
    ) -> Skips: ...
    def locked(
        self,
        template: str,
        *,
        on_conflict: OnConflict = "raise",
        retries: int = 0,
        retry_delay: Duration = RETRY_DELAY,
        **options: Unpack[JobOptions],
    ) -> Any:
        """A decorator: each call has the lock that the template names for it, as `@d.locked("account:{account_id}")`.

        For `def` and `async def`. It waits for the lock unless told otherwise; with `on_conflict="skip"` it does not,
        and the call gives `Skipped` where somebody else has it, after so many `retries`.
        """
        refuse_nameless(template)
        refuse_unknown(options, beside=_BESIDE)
        manner = Manner.of(on_conflict, retries, retry_delay, on_outage=self._on_outage(options))
        return for_methods_too(partial(self._guarded, template, manner, self._terms(manner, options)))

    def _guarded(
        self, text: str, manner: Manner, options: JobOptions, function: Callable[..., Any]
    ) -> Callable[..., Any]:
        about, lock = self._locks_of(text, function, options)

        def admission(args: Args, kwargs: Kwargs) -> Admission:
            return Admission(self._engine, lock(args, kwargs), manner=manner, function=about.name)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with admission(args, kwargs) as skipped:
                return finished(function(*args, **kwargs)) if skipped is None else skipped

        @wraps(function)
        async def acall(*args: Any, **kwargs: Any) -> Any:
            async with admission(args, kwargs) as skipped:
                return await function(*args, **kwargs) if skipped is None else skipped

        return acall if about.is_async else call

    def _locks_of(
        self, text: str, function: Callable[..., Any], options: JobOptions
    ) -> tuple[Function, Callable[[Args, Kwargs], Lock]]:
        """What there is to know of the function, and how to make the lock of each of its calls."""
        template, about = _checked(text, function)
        if template.is_constant:
            self._note_constant(template.name((), {}), about)

        def lock(args: Args, kwargs: Kwargs) -> Lock:
            name = _name(template, about, args, kwargs)
            try:
                return self._lock(name, options)
            except ConfigError as fault:
                raise ConfigError(f"{about}, locked by {text!r}: {fault}") from None

        return about, lock

    def _terms(self, manner: Manner, options: JobOptions) -> JobOptions:
        """The lock's keywords with their defaults; what is wrong with them is told where they are said."""
        terms: JobOptions = {"ttl": TTL, **options}
        if "wait" not in terms and (manner.retries or manner.is_skipping):
            terms["wait"] = 0
        terms = manner.applied(terms)
        self._lock("any", terms)
        _refuse_contradictions(manner, terms)
        return terms

    def _on_outage(self, options: JobOptions) -> OnOutageOfJob:
        return options.get("on_outage") or self._engine.detours.on_outage

    def _lock(self, name: str, options: JobOptions) -> Lock:
        wish = request(name, options, ttl=self.config.ttl, may_skip=True)
        return Lock(self._engine, wish, options.get("on_lost"))

    def _note_constant(self, name: str, function: Function) -> None:
        """Two functions that share a name by mistake would keep each other from running."""
        other = self._constants.get(name, function)
        if other.name == function.name:  # the first, or the same once more: its module was loaded again
            self._constants[name] = function
        else:
            warn(
                f"{other} and {function} are both locked by {name!r}: while one runs, the other does not. "
                "Give each a name of its own, or lock inside of them if that is what you want",
                stacklevel=5,
            )


def _refuse_contradictions(manner: Manner, options: JobOptions) -> None:
    wait = options.get("wait")
    if manner.retries and (wait is None or seconds(wait) > 0):
        raise ConfigError(
            f"retries={manner.retries} with wait={wait!r}: one who waits is woken in its turn and need not try again; "
            "say wait= or retries=, not both"
        )
    if options.get("on_outage") == "skip" and not manner.is_skipping:
        raise ConfigError("on_outage='skip' needs on_conflict='skip', too: only such a call can give Skipped")


def for_methods_too(guard: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A decorator that does the same for what `@staticmethod` and `@classmethod` have made of a function."""

    def decorate(function: Any) -> Any:
        for kind in _METHODS:
            if isinstance(function, kind):
                return kind(guard(function.__func__))
        return guard(function)

    return decorate


def refuse_nameless(template: object) -> None:
    """A decorator that was put on without a name was given the function instead."""
    if not isinstance(template, str):
        raise ConfigError(f"{template!r} names no lock: write the name first, as in @d.locked('report:daily')")


def _checked(text: str, function: Callable[..., Any]) -> tuple[Template, Function]:
    """The template, if the function's calls can fill it, and what there is to know of the function."""
    from dibs.model.template import Template  # noqa: PLC0415 - needed by few

    if fault := guard_fault(function):
        raise ConfigError(f"{function!r} cannot be locked by {text!r}: it {fault}")
    about = Function.of(function)
    try:
        template = Template.of(text, signature(function))
    except ValueError as fault:
        raise ConfigError(f"{about} cannot be locked by {text!r}: {fault}") from None
    if template.is_constant and (unnamed := lock_fault(template.name((), {}))):
        raise ConfigError(f"{about} cannot be locked by {text!r}: {unnamed}")
    return template, about


def _name(template: Template, function: Function, args: Args, kwargs: Kwargs) -> str:
    try:
        return template.name(args, kwargs)
    except ValueError as fault:
        raise ConfigError(f"{function}, locked by {template.text!r}: {fault}") from fault
    except TypeError as lacking:
        raise TypeError(f"{function.name}() is {lacking}") from None


def finished(result: T) -> T:
    """The result of a call that is over; of a coroutine it would only be the beginning."""
    if iscoroutine(result):
        result.close()
        raise ConfigError(
            f"{result.__qualname__} is async, but what was called is not: the lock would end before its body begins. "
            "Lock the async function itself, or use aexecute_with_lock()"
        )
    return result
