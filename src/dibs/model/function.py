"""What there is to know of a function before a lock is put around it."""

from __future__ import annotations

from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction, unwrap
from typing import TYPE_CHECKING, Any

from dibs.model.value import value

if TYPE_CHECKING:
    from collections.abc import Callable


@value
class Function:
    """A function: what it is called, where it stands, and which colour it has."""

    name: str
    """Its module and its own name."""
    place: str
    """Its file and line; empty for one that is not written in Python."""
    is_async: bool

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Function:
        """What there is to know of this one."""
        plain = getattr(function, "func", function)  # of a functools.partial
        name = getattr(plain, "__qualname__", None) or type(plain).__qualname__
        code = getattr(unwrap(plain), "__code__", None)
        place = f"{code.co_filename}:{code.co_firstlineno}" if code else ""
        return cls(f"{getattr(plain, '__module__', None) or 'builtins'}.{name}", place, is_async(function))

    def __str__(self) -> str:
        return f"{self.name} ({self.place})" if self.place else self.name


def is_async(function: object) -> bool:
    """Whether a call gives something to await."""
    return iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def guard_fault(function: object) -> str | None:
    """Why no lock can be put around this, as the end of a sentence; `None` if one can."""
    if isinstance(function, type):
        return "is a class, and the lock would only be held while an object is made: decorate its methods"
    if not callable(function):
        return "is no function: put the lock right above the def, and other decorators above the lock"
    if isgeneratorfunction(function) or isasyncgenfunction(function):
        return (
            "is a generator, and the lock would end before its body begins: take the lock inside of it, "
            "with `with d.lock(...)`"
        )
    return None
