"""What may be asked of a lock, and what may be answered. Times are seconds of the store's own clock."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final, Literal

from dibs.model.value import value

CROWD = 1_000_000
"""Room for all who want in: as many as a store could ever keep."""


@value
class Memo:
    """What is remembered of work that was done under a lock, and until when, in the store's epoch seconds."""

    text: str
    until: float


@value
class Acquire:
    """Give me the lock, or a place in the queue; asked again by the same owner it changes nothing but the TTL."""

    owner: str
    ttl: float
    not_after: float
    channel: str
    who: str
    purpose: str = ""
    seen: int = 0
    queue: bool = True
    room: int = 1
    """How many may hold the lock together, the asker included: 1 is alone, `CROWD` is with all who say the same."""
    depth: int = 0
    """1 if it is to be counted how often the owner has entered; 0 for a plain mutex."""


@value
class KeepAlive:
    """I still wait: keep my ticket. Never creates one."""

    owner: str
    ttl: float


@value
class Renew:
    """I still work: keep my lease, which I have entered so many times. Never creates one."""

    owner: str
    fence: int
    ttl: float
    depth: int = 0
    room: int = 1
    """How many may hold the lock together: where several servers decide, that says how many of them must keep it."""


@value
class Leave:
    """Remove every trace of me: a ticket is left, a lease released.

    `bar_until` is given while an acquire of ours is unanswered: should it land after this, it is refused.
    A `memo` is what to remember of the work that was done; it is kept only if the lease was still ours.
    With a `fence` it is only about the lease that has it: one who has got a part of a lock, and asks again, takes
    back the first part and keeps its ticket, and what it gets the next time.
    The `channel` is ours: whoever waits there, and gets the lock by this, may be told by the answer instead of a push.
    """

    owner: str
    bar_until: float | None = None
    memo: Memo | None = None
    fence: int | None = None
    channel: str = ""


@value
class Evict:
    """Take the lock from the one who holds it with this fence."""

    fence: int


Ask = Acquire | KeepAlive | Renew | Leave | Evict


@value
class Held:
    """What others may know of a holder; its owner token stays its own."""

    who: str
    purpose: str
    since: float
    ttl: float
    ttl_left: float
    fence: int
    room: int = 1
    depth: int = 0


@value
class Granted:
    """The lock is yours, under this fence."""

    fence: int


@value
class Queued:
    """You have a ticket; ask again in so many seconds unless you hear something.

    Should holder and all who stand ahead die, that is when the next must notice; a store may say less.
    """

    position: int
    ask_again_in: float
    held: Held


@value
class StillQueued:
    """Your ticket was kept alive; no need to ask again before so many seconds have passed."""

    ask_again_in: float


@value
class Busy:
    """Somebody else has it, and you did not want to wait (or too many do)."""

    held: Held
    waiters: int


@value
class Hindrance:
    """Of several locks none is taken: the one at this place, counted from 0, was not to be had."""

    place: int
    answer: Busy | Literal[Said.REFUSED]


class Said(Enum):
    """Answers that are one word."""

    REFUSED = "refused"
    GONE = "gone"
    KEPT = "kept"
    RELEASED = "released"
    LEFT = "left"
    EVICTED = "evicted"
    CHANGED = "changed"
    NO_LOCK = "no lock"


REFUSED: Final = Said.REFUSED
KEPT: Final = Said.KEPT
RELEASED: Final = Said.RELEASED
"""Those that nearly every lock is asked about, by a name of their own: see `tenure.LOST`."""


@value
class Recalled:
    """What a store remembers of the work done under a lock, if it does, and what its clock says (epoch seconds)."""

    at: float
    text: str | None = None
    made_at: float = 0.0


AcquireAnswer = Granted | Queued | Busy | Literal[Said.REFUSED]
AllAnswer = Sequence[Granted] | Hindrance
KeepAnswer = Granted | StillQueued | Literal[Said.KEPT, Said.GONE]
LeaveAnswer = Literal[Said.RELEASED, Said.LEFT, Said.GONE]
EvictAnswer = Literal[Said.EVICTED, Said.CHANGED, Said.GONE, Said.NO_LOCK]
Answer = Granted | Queued | StillQueued | Busy | Said


@value
class Push:
    """What the store tells a process unasked: a lock was handed to an owner of its, or taken from one.

    Where one server's word is not enough to hand it over, its owner is only woken, and is to ask again within so many
    seconds.
    """

    channel: str
    owner: str
    fence: int
    kind: Literal["handed", "evicted", "woken"]
    within: float = 0.0
