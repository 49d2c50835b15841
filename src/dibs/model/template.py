"""Names made of a call's arguments: `"account:{account_id}"`."""

from __future__ import annotations

import re
from inspect import Parameter
from string import Formatter
from typing import TYPE_CHECKING, Any, TypeAlias

from dibs.model.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from inspect import Signature

    Args: TypeAlias = Sequence[Any]
    Kwargs: TypeAlias = Mapping[str, Any]

_ROOT = re.compile(r"[^.\[\]]*")
_STEP = re.compile(r"\.([^.\[\]]+)|\[([^\[\]]+)\]")
_ADDRESS = " at 0x"
"""Where an object lies in memory: so Python shows one that has no better text."""
_CONVERSIONS = frozenset({None, "", "a", "r", "s"})


@value
class Template:
    """A name with fields, checked against the signature of the function whose calls fill them."""

    text: str
    pattern: str
    """The same with its fields numbered, as `str.format` fills them."""
    fields: tuple[_Field, ...]

    @classmethod
    def of(cls, text: str, signature: Signature) -> Template:
        """The template; a `ValueError` says which field no call could fill, and which parameters there are."""
        roots, fields = _roots(signature), list[_Field]()
        return cls(text, _numbered(text, roots, fields), tuple(fields))

    @property
    def is_constant(self) -> bool:
        """Whether all calls have the same name."""
        return not self.fields

    def name(self, args: Args, kwargs: Kwargs) -> str:
        """The name for one call; a `ValueError` says what cannot be filled in, a `TypeError` what the call lacks."""
        values = [field.found(args, kwargs) for field in self.fields]
        try:
            name = self.pattern.format(*values)
        except TypeError as error:  # a format that the value does not know
            raise ValueError(str(error)) from error
        if _ADDRESS in name:
            for field, found in zip(self.fields, values, strict=True):
                field.refuse_address(found)
        return name


@value
class _Field:
    """What stands between two braces: a parameter, and the way from there."""

    text: str
    root: _Root
    steps: tuple[tuple[bool, str | int], ...]

    def found(self, args: Args, kwargs: Kwargs) -> Any:
        """Its value in this call."""
        found = self.root.found(args, kwargs)
        try:
            for is_attribute, step in self.steps:
                found = getattr(found, str(step)) if is_attribute else found[step]
        except (AttributeError, LookupError, TypeError) as error:
            raise ValueError(f"{{{self.text}}} is not there ({type(error).__name__}: {error})") from error
        if isinstance(found, set | frozenset):
            raise ValueError(f"{{{self.text}}} is a set, which each process may put in another order: sort it first")
        return found

    def refuse_address(self, found: object) -> None:
        """A text that is another one in every process would make a lock that excludes nobody."""
        if not isinstance(found, str):
            raise ValueError(
                f"{{{self.text}}} is a {type(found).__name__}, whose text is another one in every process: "
                f"name a part of it, as in {{{self.text}.id}}"
            )


@value
class _Root:
    """The parameter that a field begins with, and where a call has it."""

    parameter: Parameter
    position: int
    taken: frozenset[str]
    """The keywords that have parameters of their own, and so are no members of `**kwargs`."""

    def found(self, args: Args, kwargs: Kwargs) -> Any:
        """The argument, or else its default."""
        kind, name = self.parameter.kind, self.parameter.name
        if kind is Parameter.VAR_POSITIONAL:
            return tuple(args[self.position :])
        if kind is Parameter.VAR_KEYWORD:
            return {key: kwargs[key] for key in kwargs if key not in self.taken}
        if kind is not Parameter.KEYWORD_ONLY and self.position < len(args):
            return args[self.position]
        if kind is not Parameter.POSITIONAL_ONLY and name in kwargs:
            return kwargs[name]
        if self.parameter.default is Parameter.empty:
            raise TypeError(f"missing a required argument: {name!r}")
        return self.parameter.default


def _roots(signature: Signature) -> Mapping[str, _Root]:
    parameters = signature.parameters
    keywords = {Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY}
    taken = frozenset(name for name, parameter in parameters.items() if parameter.kind in keywords)
    return {name: _Root(parameters[name], position, taken) for position, name in enumerate(parameters)}


def _numbered(text: str, roots: Mapping[str, _Root], fields: list[_Field]) -> str:
    """What `str.format` is to fill; the fields are added to `fields`. A format may have fields of its own."""
    pieces: list[str] = []
    for literal, field, spec, conversion in Formatter().parse(text):
        pieces.append(literal.replace("{", "{{").replace("}", "}}"))
        if field is None:
            continue
        if conversion not in _CONVERSIONS:
            raise ValueError(f"{{{field}!{conversion}}}: a conversion is !s, !r or !a")
        pieces.append(f"{{{len(fields)}")
        fields.append(_field(field, roots))
        pieces.append(f"!{conversion}" if conversion else "")
        pieces.append(f":{_numbered(spec, roots, fields)}}}" if spec else "}")
    return "".join(pieces)


def _field(text: str, roots: Mapping[str, _Root]) -> _Field:
    root = _ROOT.findall(text)[0]
    there_are = f"there are {', '.join(roots)}" if roots else "the function has none"
    if not root or root.isdecimal():
        raise ValueError(f"{{{text}}} does not say which parameter it is: {there_are}")
    if root not in roots:
        raise ValueError(f"{{{text}}} is no parameter: {there_are}")
    return _Field(text, roots[root], _steps(text, len(root)))


def _steps(text: str, start: int) -> tuple[tuple[bool, str | int], ...]:
    """The way from the parameter, as `str.format` reads it: `.attribute` or `[key]`, a number being an index."""
    steps: list[tuple[bool, str | int]] = []
    while start < len(text):
        step = _STEP.match(text, start)
        if step is None:
            raise ValueError(f"{{{text}}} cannot be read: after a parameter comes .attribute or [key]")
        attribute, key = step.groups()
        steps.append((True, attribute) if attribute else (False, int(key) if key.isdecimal() else key))
        start = step.end()
    return tuple(steps)
