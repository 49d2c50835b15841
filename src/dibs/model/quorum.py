"""What the answers of several servers come to, each of which knows only its own: a majority of them decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import Enum
from zlib import crc32

from dibs.model.asks import CROWD, Busy, Held, KeepAnswer, LeaveAnswer, Queued, Recalled, Said, StillQueued
from dibs.model.fence import MICROSECONDS
from dibs.model.request import TTL
from dibs.model.value import value
from dibs.model.views import LockView

HEADROOM, MOST_HEADROOM = 0.01, 1.0
"""How far ahead of all clocks a fence is proposed, for what a message may take: so all servers can give the same."""
EASE = 0.9995
"""How much of that is kept after each time it was enough: of a crowd that asks at once all must be given it."""
LEAP = 1_000
"""How far above all counters the next fence is tried, when others were quicker than the last one."""
MOST_LEAPS = 4
FIRST_JITTER, LONGEST_JITTER = 0.008, 0.064


def majority(size: int) -> int:
    """How many servers it takes: two majorities always share one."""
    return size // 2 + 1


def needed(size: int, room: int) -> int:
    """How many servers it takes for one who allows so many to hold the lock beside it, itself included.

    Two majorities share a server; so that of three who want two permits all three meet on one, each needs more than two
    thirds of them. Readers need not meet one another, only every writer.
    """
    return majority(size) if room >= CROWD else size * room // (room + 1) + 1


class Absent(Enum):
    """Why a server that was asked for its vote has none."""

    NEW = "it has forgotten all, and does not count yet"
    BARE = "it has forgotten how work stands, and was not told by the others yet"
    LATE = "its clock says that the ask came too late"
    SILENT = "it did not answer in time"


class Standing(Enum):
    """How an election stands that can change no more."""

    ELECTED = "a majority has granted it"
    BEATEN = "a majority has answered, and not enough of them grant it"
    UNKNOWN = "too few have answered to know"


def standing(need: int, *, yes: int, no: int, out: int) -> Standing | None:
    """What so many grants, refusals and answers still out come to; `None` while that may change.

    A fault is no refusal: who hears of one from somebody else's holder and of two from dead servers knows nothing.
    """
    if yes >= need:
        return Standing.ELECTED
    if yes + out >= need:
        return None
    if yes + no >= need:
        return Standing.BEATEN
    return None if out else Standing.UNKNOWN


def proposal(*, latest_clock: float, headroom: float, seen: int, last: int) -> int:
    """The fence to have all servers give, if none has given a higher one: what is to be passed as the highest seen."""
    return max(int((latest_clock + headroom) * MICROSECONDS), seen, last)


def headroom(before: float, *, floor: int, fence: int) -> float:
    """How far ahead to propose the next one: further if a server has given more than was proposed, else a little less.

    A loop with much to do sends late what it has worded early, and clocks go on meanwhile.
    """
    late_by = (fence - floor - 1) / MICROSECONDS
    if late_by > 0:
        return min(before + 2 * late_by, MOST_HEADROOM)
    return max(before * EASE, HEADROOM)


def is_settled(fences: Iterable[int], fence: int, need: int) -> bool:
    """Whether a majority counts from this fence on already: then it need not be told to."""
    return list(fences).count(fence) >= need


def leapt(counters: Iterable[int]) -> int:
    """A fence above all that these servers have counted."""
    return max(counters) + LEAP


def jitter(tries: int, owner: str) -> float:
    """How long to wait after so many votes that were split, spread so that the same owners do not meet again."""
    widest = min(LONGEST_JITTER, FIRST_JITTER * 2.0 ** min(tries, 8))
    return widest * (0.1 + 0.9 * crc32(f"{owner}/{tries}".encode()) / 2**32)


def likeliest(refusals: Sequence[Queued | Busy]) -> tuple[Held, int]:
    """Whom most servers name as the holder, and how many do."""
    named = Counter((refusal.held.fence, refusal.held.who) for refusal in refusals)
    (fence, who), times = max(named.items(), key=lambda each: (each[1], each[0]))
    return next(each.held for each in refusals if (each.held.fence, each.held.who) == (fence, who)), times


def is_split(refusals: Sequence[Queued | Busy], *, size: int, yes: int) -> bool:
    """Whether nobody can have a majority: others have asked at the same time, and each has got a part."""
    _, times = likeliest(refusals)
    return times + size - yes - len(refusals) < majority(size)


def queued(refusals: Sequence[Queued | Busy], *, need: int, yes: int, again_in: float | None) -> Queued:
    """The place of one who waits on all of them; it is to ask again when enough of them may be free."""
    held, _ = likeliest(refusals)
    waits = sorted(refusal.ask_again_in if isinstance(refusal, Queued) else 0.0 for refusal in refusals)
    free_in = waits[min(max(need - yes, 1), len(waits)) - 1]
    position = min((refusal.position for refusal in refusals if isinstance(refusal, Queued)), default=0)
    return Queued(position, free_in if again_in is None else min(again_in, free_in), held)


def busy(refusals: Sequence[Queued | Busy]) -> Busy:
    """What one is told who does not wait."""
    held, _ = likeliest(refusals)
    return Busy(held, max(refusal.waiters if isinstance(refusal, Busy) else refusal.position for refusal in refusals))


def kept(answers: Sequence[KeepAnswer], *, size: int, need: int) -> KeepAnswer | None:
    """What so many answers about one lease or ticket come to; `None` while that may change.

    A lease is kept if as many keep it as it needs, and gone once they cannot.
    """
    again = [answer.ask_again_in for answer in answers if isinstance(answer, StillQueued)]
    keeps = sum(answer is Said.KEPT for answer in answers)
    if keeps >= need:
        return Said.KEPT
    if len(again) + size - len(answers) < need and keeps + size - len(answers) < need:
        return Said.GONE
    return StillQueued(min(again)) if len(again) >= need else None


def left(answers: Sequence[LeaveAnswer], *, size: int, out: int) -> LeaveAnswer | None:
    """What so many farewells come to, with so many still out; `None` while that may change."""
    need = majority(size)
    released = sum(answer is Said.RELEASED for answer in answers)
    if released >= need:
        return Said.RELEASED
    if released + out >= need or len(answers) < need:
        return None
    return Said.LEFT if any(answer is not Said.GONE for answer in answers) else Said.GONE


def newest(answers: Sequence[Recalled], at: float) -> Recalled:
    """What is remembered by any of a majority, and was last."""
    found = max(answers, key=lambda each: (each.text is not None, each.made_at))
    return Recalled(at, found.text, found.made_at)


def seen_by_most(name: str, views: Sequence[LockView], *, size: int, at: float) -> LockView:
    """A lock as it stands: held by those whom a majority knows, where those that are silent count as if they did."""
    times = Counter(held.fence for view in views for held in view.holders)
    silent = size - len(views)
    held = {fence for fence, known in times.items() if known + silent >= majority(size)}
    holders: dict[int, Held] = {}
    for view in views:
        for each in view.holders:
            if each.fence in held:
                holders.setdefault(each.fence, each)
    waiters = max((view.waiters for view in views), key=len, default=())
    return LockView(name, at, tuple(holders[fence] for fence in sorted(holders)), waiters)


@value
class Register:
    """What a server says of itself: how far it has counted, and the longest TTL it knows of, if it counts at all."""

    counter: int
    longest: float
    is_born: bool
    silent_for: float = 0.0
    """For how long it has been known that it has forgotten all."""
    fresh: float = 0.0
    """Since when, in its own words: who is to make it count says so, lest it should have forgotten all once more."""


@value
class Christening:
    """What a new server is to be told: to count from there, after so long."""

    counter: int
    wait: float
    longest: float


def christening(registers: Sequence[Register | None]) -> Christening | None:
    """How a server becomes one that counts, which has forgotten all; `None` while too few are there to tell.

    It may have granted what is still held, so it is silent for the longest TTL there is; then it counts from the
    highest fence that a majority knows. Where all are there and nobody was ever asked for a lock, nothing has to be
    waited for.
    """
    known = [register for register in registers if register is not None]
    if len(known) < majority(len(registers)):
        return None
    old = [register for register in known if register.is_born]
    counter = max(register.counter for register in known)
    longest = max(register.longest for register in known)
    if len(old) < majority(len(registers)) and len(known) < len(registers):
        longest = max(longest, TTL)  # of those who could tell, too few are there
    return Christening(counter, longest, longest)
