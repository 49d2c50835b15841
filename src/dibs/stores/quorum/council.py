"""All servers of a quorum as one process sees them: who is there, what their clocks say, what they are still owed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeAlias

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.model.asks import Leave, Push
from dibs.model.quorum import HEADROOM, headroom, jitter, majority, proposal
from dibs.model.register import Rank, next_number
from dibs.ports.store import Command, Reply

if TYPE_CHECKING:
    from dibs.ports.wire import Ear, Line
    from dibs.stores.quorum.election import Election
    from dibs.stores.quorum.node import NodeStore

NODE_PATIENCE = 0.25
"""How long one server may keep the others waiting; who is silent for longer is not waited for until it speaks again."""
PROBE = 0.25
"""How often one that is away is asked whether it is back."""
MOST_OWED = 10_000
MOST_REFUSALS = 3
MOST_KNOWN = 10_000

Debt: TypeAlias = "tuple[NodeStore, str, Leave]"
"""What one of them is still to be told, about which lock."""
Outcome: TypeAlias = Reply | StoreUnreachable
Told = Callable[[int, Any], None]
"""Who is told what a server has answered, or that it did not."""


class Node:
    """One server, as far as we know it."""

    ahead: float | None = None
    """The latest that its clock can say, less ours; `None` before its first answer."""
    knows_scripts = is_down = is_naming = is_ripe = False
    waiting, silent_since, probe_at, name_at, restore_at = 0, 0.0, 0.0, 0.0, 0.0
    era = ""
    """The last that we have heard of, in which it makes promises for sheets."""
    refusals = 0
    """How often in a row it has said that it does nothing just now."""

    def __init__(self, number: int, line: Line) -> None:
        self.number, self.line = number, line
        self.owed: dict[tuple[str, int | None], Debt] = {}

    def is_away(self, now: float) -> bool:
        """Whether it is not worth waiting for."""
        return self.is_down or (self.waiting > 0 and now - self.silent_since > NODE_PATIENCE)


class Council:
    """The servers, and what is between us and them. Safe for many threads: lines may answer on any."""

    proposer = 0
    """Our own number among those who set sheets; nobody else's."""

    def __init__(self, server: str, ear: Ear, now: Callable[[], float], tongue: NodeStore) -> None:
        self.server, self.now, self._ear, self._tongue = server, now, ear, tongue
        self.lock = RLock()
        self.nodes: Sequence[Node] = ()
        self.decided: deque[tuple[Callable[[Outcome], None], Outcome]] = deque()
        """What came of ballots, and whom to tell."""
        self.wakes: dict[str, frozenset[int]] = {}
        """Who has woken each owner that waits."""
        self.splits: dict[str, int] = {}
        self.asked: dict[str, Election] = {}
        """The last election of each owner who may still have to leave."""
        self._last_fence, self._headroom = 0, HEADROOM
        self._ahead = self._latest = 0.0
        self._has_heard_time, self._last_number = False, 0

    @property
    def size(self) -> int:
        return len(self.nodes)

    @property
    def need(self) -> int:
        return majority(len(self.nodes))

    # Who is there.

    def present(self) -> list[Node]:
        """Those that are worth asking; the others are asked whether they are back."""
        now = self.now()
        here = [node for node in self.nodes if not node.is_away(now)]
        if len(here) < len(self.nodes):
            for node in self.nodes:
                if node not in here:
                    self._probe(node, now)
        return here

    def ask(self, node: Node, command: Command[Any], told: Told) -> None:
        """Send it to one of them; `told` hears what comes of it, if anything does."""
        self.post(node, command.words, command.read, told)

    def post(self, node: Node, words: Sequence[Any], read: Callable[[Any], Any], told: Told) -> None:
        """The same, of what is worded for each of them anew."""
        if not node.knows_scripts:
            self._introduce(node)
        now = self.now()
        if not node.waiting:
            node.silent_since = now
        node.waiting += 1
        node.line.post(words, 0, partial(self._hear, node, read, told, now))

    def _introduce(self, node: Node) -> None:
        node.knows_scripts = True
        for introduction in self._tongue.introduction():
            self.ask(node, introduction, _ignored)

    def _hear(self, node: Node, read: Callable[[Any], Any], told: Told, asked_at: float, outcome: Outcome) -> None:
        with self.lock:
            node.waiting -= 1
            if isinstance(outcome, Reply):
                node.is_down, node.silent_since, node.refusals = False, self.now(), 0
                if (at := outcome.at) is not None:
                    node.ahead, self._has_heard_time = at - asked_at, True
                try:
                    answer = read(outcome.value)
                except Exception as error:  # noqa: BLE001 - a reply nobody can read is one server's trouble, not the wire's
                    answer = self._unreadable(error)
                told(node.number, answer)
                if node.owed:
                    self._pay(node)
            else:
                self._bear(node, outcome, told)
        if self.decided:
            self.tell()

    def tell(self) -> None:
        """Pass on what was decided; not before the lock is free, as whoever hears of it may do anything."""
        while self.decided:
            try:
                heard, outcome = self.decided.popleft()
            except IndexError:  # another thread was quicker
                return
            heard(outcome)

    def _bear(self, node: Node, silence: StoreUnreachable, told: Told) -> None:
        """One has not answered, or has refused to do anything."""
        if silence.why.startswith("NOSCRIPT"):
            node.knows_scripts = False
        elif silence.is_outage or not isinstance(silence, StoreRefused):
            node.is_down = True
        told(node.number, silence)
        if node.owed and isinstance(silence, StoreRefused) and node.refusals < MOST_REFUSALS:
            node.refusals += 1
            self.ask(node, self._tongue.time(), _ignored)

    def _unreadable(self, error: Exception) -> StoreUnreachable:
        why = f"it said what cannot be read: {error!r}"
        return StoreUnreachable(self.server, after=0.0, why=why, is_outage=False)

    def _probe(self, node: Node, now: float) -> None:
        if now >= node.probe_at:
            node.probe_at = now + PROBE
            self.ask(node, self._tongue.time(), _ignored)

    # What their clocks say. The quorum's own time is what most of them say.

    def note_time(self) -> float:
        """By how much the quorum's clock is ahead of ours, as far as is known by now."""
        if self._has_heard_time:
            self._has_heard_time = False
            known = sorted([node.ahead for node in self.nodes if node.ahead is not None])
            self._ahead, self._latest = known[(len(known) - 1) // 2], known[-1]
        return self._ahead

    def at(self, node: Node, moment: float) -> float:
        """A moment of the quorum's time, as this server's clock has it."""
        return moment if node.ahead is None else moment - self.note_time() + node.ahead

    def at_each(self, nodes: Iterable[Node], moment: float) -> Mapping[int, float]:
        """The same for several that have told their time."""
        since = moment - self.note_time()
        return {node.number: since + node.ahead for node in nodes if node.ahead is not None}

    def floor(self, seen: int) -> int:
        """What the fences of the next election are to be above."""
        self.note_time()
        latest = self.now() + self._latest
        floor = proposal(latest_clock=latest, headroom=self._headroom, seen=seen, last=self._last_fence)
        self._last_fence = floor + 1
        return floor

    def note_agreed(self, floor: int, fence: int) -> None:
        """Which fence was the highest of those that were given, above this floor."""
        self._headroom = headroom(self._headroom, floor=floor, fence=fence)

    def note_fence(self, fence: int) -> None:
        """One has given it: what is asked for from now on is to be above, or it could not be told from this."""
        self._last_fence = max(self._last_fence, fence)

    def rank(self, seen: int) -> Rank:
        """A new one for us, above the number that we were beaten by."""
        now = self.now() + self.note_time()
        self._last_number = next_number(now=now, last=self._last_number, seen=seen)
        return Rank(self._last_number, self.proposer)

    # What they are owed.

    def leave(self, node: Node, store: NodeStore, name: str, leave: Leave) -> None:
        """Take back from one of them what it has of an owner. Who does not answer is told again when it is back."""

        def told(_number: int, answer: Any) -> None:
            if isinstance(answer, StoreUnreachable):
                self.owe(node, store, name, leave)

        self.ask(node, store.leave(name, leave), told)

    def owe(self, node: Node, store: NodeStore, name: str, leave: Leave) -> None:
        """It is to be told when it is back."""
        node.owed[leave.owner, leave.fence] = store, name, leave
        if len(node.owed) > MOST_OWED:
            node.owed.pop(next(iter(node.owed)))
        self._probe(node, self.now())  # it may be back already

    def _pay(self, node: Node) -> None:
        owed, node.owed = node.owed, {}
        for store, name, leave in owed.values():
            self.leave(node, store, name, leave)

    # What they tell unasked.

    def know(self, owner: str, election: Election) -> None:
        """Whatever becomes of this election, its owner may have to leave. One before it is over."""
        before = self.asked.pop(owner, None)
        if before is not None:
            before.close(election.not_after)
            election.inherit(before)
        self.asked[owner] = election
        if len(self.asked) > MOST_KNOWN:
            self.asked.pop(next(iter(self.asked)))

    def forget(self, owner: str) -> Election | None:
        """It waits and holds no more; gives its last election."""
        self.wakes.pop(owner, None)
        self.splits.pop(owner, None)
        return self.asked.pop(owner, None)

    def told(self, number: int, push: Push, asked_at: float) -> None:
        """A server has told something. Who is woken by a majority asks at once; by fewer, it may not be its turn."""
        if push.kind != "woken":
            self._ear.deliver(push, asked_at)
            return
        with self.lock:
            wakes = self.wakes.get(push.owner)
            if wakes is None or number in wakes:
                return
            self.wakes[push.owner] = wakes | {number}
            times = len(wakes) + 1
        if times in (1, self.need):
            within = 0.0 if times == self.need else jitter(2, push.owner)
            self._ear.deliver(Push(push.channel, push.owner, 0, "woken", within), asked_at)

    def ask_again(self, number: int) -> None:
        """The line to a server was made anew: it is told what it is owed, and pushes of its may have been missed."""
        with self.lock:
            node = self.nodes[number]
            node.is_down = False
            self._pay(node)
        self._ear.ask_again()


class NodeEar:
    """Hears what one server tells, and passes it on."""

    def __init__(self, council: Council, number: int) -> None:
        self._council, self._number = council, number

    def deliver(self, push: Push, asked_at: float) -> None:
        self._council.told(self._number, push, asked_at)

    def ask_again(self) -> None:
        self._council.ask_again(self._number)


def _ignored(_number: int, _answer: object) -> None:
    """Nobody waits for it."""
