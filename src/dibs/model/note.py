"""What a memo says of work that was done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.model.asks import Recalled

Kind = Literal["once", "shared"]

LONGEST_NOTE = 64 * 1024
"""How many bytes a store is made to remember of one piece of work."""


@value
class Note:
    """For whom it was noted, who did the work, and what came of it, if that is to be known."""

    kind: Kind
    by: str
    flight: str
    """A name that no other piece of work has."""
    results: tuple[Any, ...] = ()
    """The one result, or none."""
    made_at: float = 0.0
    """When it was noted, by the store's clock."""

    def text(self) -> str:
        """As the store keeps it; a `ValueError` says why a result cannot be kept."""
        from json import dumps  # noqa: PLC0415 - needed by few

        try:
            text = dumps({"kind": self.kind, "by": self.by, "flight": self.flight, "results": self.results})
        except Exception as error:  # whatever the parts of a result do when they are looked at
            raise ValueError(f"JSON has no words for {_type_name(*self.results)}: {error}") from error
        if len(text) > LONGEST_NOTE:
            raise ValueError(f"{_type_name(*self.results)} of {len(text)} bytes is longer than {LONGEST_NOTE}")
        return text

    @classmethod
    def of(cls, kind: Kind, recalled: Recalled) -> Note | None:
        """The note of this kind that is remembered, if one is."""
        from json import loads  # noqa: PLC0415 - needed by few

        try:
            said: Any = loads(recalled.text or "{}")
            if said["kind"] == kind:
                return cls(kind, said["by"], said["flight"], tuple(said["results"]), recalled.made_at)
        except (ValueError, LookupError, TypeError):  # none of ours
            pass
        return None


def _type_name(result: object) -> str:
    kind = type(result)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
