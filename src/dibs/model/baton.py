"""What is handed from one process to another so that it can go on with a lease."""

from __future__ import annotations

from dibs.model.request import Request
from dibs.model.value import value


@value
class Baton:
    """A lease on its way. Until it was handed on it was `held_for` so long; the way itself is not counted.

    Two processes have no clock in common but the store's: so there are no other moments in it.
    """

    namespace: str
    name: str
    owner: str
    fence: int
    ttl: float
    held_for: float
    renew: bool = True
    max_hold: float | None = None
    at_least: float = 0.0
    bar_until: float | None = None
    """Until when, by the store's clock, an ask of its first holder may still land: whoever releases it must bar it."""

    @property
    def request(self) -> Request:
        """The wish that it was taken by, as far as it still matters."""
        return Request(self.name, self.ttl, renew=self.renew, max_hold=self.max_hold, at_least=self.at_least)

    @property
    def span(self) -> float:
        """How long the one who takes it may ask for at first: a TTL, or what is left of its `max_hold`."""
        return self.ttl if self.max_hold is None else min(self.ttl, self.max_hold - self.held_for)


def is_plain(request: Request) -> bool:
    """Whether it is a lock that one alone holds, and holds once: only such a lease can be handed on by now."""
    return request.room == 1 and not request.is_counted
