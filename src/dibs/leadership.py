"""How a client stands for a leadership."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, Unpack, cast

from dibs.errors import ConfigError
from dibs.options import checked_callback, request

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.config import Config
    from dibs.errors import LeaseLost
    from dibs.leader import Leader
    from dibs.leader.candidate import OnElected, OnEnded
    from dibs.model.duration import Duration
    from dibs.options import LockOptions
    from dibs.runtime.engine import Engine


class TermOptions(TypedDict, total=False):
    """The keywords of a lock that make sense for a term; a candidate waits for as long as it takes."""

    ttl: Duration
    """How soon another can lead when the leader has died without a word (default 30 s)."""
    purpose: str
    """What it is for, shown to whoever looks or waits."""
    renew: bool
    """Whether the term goes on until it is resigned (the default), or ends with its TTL."""
    max_hold: Duration | None
    """The longest that a term may be."""
    on_lost: Callable[[LeaseLost], object] | None
    """Called once for each term that is lost, on a thread of its own."""


class Leadership:
    """How one of many comes to lead."""

    config: Config
    _engine: Engine

    def leader(
        self,
        name: str,
        *,
        on_elected: OnElected | None = None,
        on_ended: OnEnded | None = None,
        **options: Unpack[TermOptions],
    ) -> Leader:
        """A leadership to stand for: `for term in d.leader("billing").terms()`, or `async for`.

        `on_elected(term)` is called before each term is given, `on_ended(term, reason)` when it is over, however.
        """
        from dibs.leader import Leader, Rules  # noqa: PLC0415 - needed by few

        if unknown := sorted(options.keys() - TermOptions.__annotations__):
            known = ", ".join(sorted(TermOptions.__annotations__))
            raise ConfigError(f"no such option of a leader: {', '.join(unknown)}; there are {known}")
        checked_callback("on_elected", on_elected, takes="the term")
        checked_callback("on_ended", on_ended, takes="the term and the reason")
        wish = request(name, cast("LockOptions", options), ttl=self.config.ttl)
        return Leader(Rules(self._engine, wish, on_elected, on_ended, options.get("on_lost")))
