"""What a node has taken on: the jobs it can run, and the runs it has in its hands."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Protocol

from dibs.model.definition import Definition
from dibs.model.tenure import Tenure, Verdict
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.model.job import Run, Terms
    from dibs.model.policy import OnOutageOfJob
    from dibs.model.rota import Ending

NOT_RENEWED = "it could not be renewed in time"
TIMEOUT = "timeout"
TAKEN = "it is not this node's any more"


class Crew(Protocol):
    """Who does what a node has taken on."""

    node: str
    """What others call it."""
    version: str
    labels: tuple[str, ...]
    workers: int

    def begin(self, mine: Underway) -> None:
        """Do this, and say how it ended."""
        ...

    def room(self) -> int:
        """How many more it can do at once."""
        ...

    def wall(self) -> float:
        """What the clock of its machine says (epoch seconds)."""
        ...

    async def under(self, lock: str, act: Callable[[], Coroutine[Any, Any, bool]]) -> bool:
        """Do this while no other node does the like; not at all, if one does. Whether there was anything to do."""
        ...

    async def first_here(self, job: str, tick: float) -> bool:
        """Whether this tick of a job is ours to run, of all nodes on this machine."""
        ...


@value
class Duty:
    """A function that this node can run, and when its code says that it is due; never, if it says nothing."""

    name: str
    rule: str
    terms: Terms
    on_outage: OnOutageOfJob = "closed"

    @property
    def definition(self) -> Definition:
        """What its code says of it."""
        return Definition(self.name, self.rule, self.terms)


@dataclass(slots=True, eq=False)
class Underway:
    """A run in this node's hands. The one who does it says how far it is, and how it ended; from any thread."""

    job: str
    run: Run
    terms: Terms
    tenure: Tenure
    begun_at: float
    safe_until: float = inf
    """Until then no other node takes it away for taking too long, by our own clock."""
    function: str = ""
    """Which does it; that of the job's own name, if it is not said."""
    arguments: str = ""
    """With which: a JSON object."""
    rule: str = ""
    """By which it is due."""
    policy: str = ""
    """By which policy it was begun without the store, if it was."""
    is_loose: bool = False
    """Whether the store does not know of it."""
    has_begun: bool = False
    ending: Ending | None = None
    progress: float | None = None
    note: str = ""
    forsaken: str = ""
    """Why it does not count any more."""
    stop: Callable[[str], None] | None = None
    """Asks the one who does it to stop, and says why."""
    asked_to_stop: str = ""
    is_left_behind: bool = False
    """Whether it does not count any more, and did not stop when its time was over: nobody waits for it."""
    is_told_slow: bool = False
    is_unanswered: bool = False
    """Whether its end was told to the store, which has not answered."""
    is_missing: bool = False
    """Whether the store does not know of it any more, since then."""

    @property
    def done_by(self) -> str:
        """The function that does it."""
        return self.function or self.job

    @property
    def owner(self) -> str:
        """Under which name the store knows it."""
        return self.run.owner

    def is_relied_on(self, now: float) -> bool:
        """Whether nobody else can have it, as far as it knows."""
        return not self.forsaken and not self.is_lost(now) and now < self.safe_until

    def is_lost(self, now: float) -> bool:
        """Whether its lease is over, by our own clock."""
        return self.tenure.judge(now) is Verdict.LOST

    def ask_to_stop(self, why: str) -> None:
        """Once; who does not listen is waited for."""
        if not self.asked_to_stop:
            self.asked_to_stop = why
            if self.stop is not None:
                self.stop(why)

    def forsake(self, why: str) -> None:
        """From now on it does not count what it does."""
        self.forsaken = self.forsaken or why
        self.ask_to_stop(why)
