"""The nodes of a fleet: what each says of itself, and how it is by that; and whether the fleet is frozen."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from math import inf
from typing import TYPE_CHECKING, Literal, TypeVar

from dibs.model.control import Refused, Word
from dibs.model.definition import Deployment, deployment_of
from dibs.model.job import Pause
from dibs.model.record import Act
from dibs.model.sheet import Change, Entry
from dibs.model.spare import known, sound, spare, written
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.model.job import Job
    from dibs.model.sheet import Sheet

NODE, DEPLOYMENT, FLEET = "~node:", "~deployment:", "~fleet"
"""How the sheets are called that are no job's."""
BEAT = 5.0
"""So often a node says that it lives, in seconds."""
SLOW_AFTER, DOWN_AFTER = 2.5 * BEAT, 6 * BEAT
"""It is slow, and down, when it has not said so for this long."""
SLOW_ROUND = 2.0
"""A node is slow, too, whose rounds take so long."""
REMEMBERED = 3600.0
"""One that is down, or has left, is forgotten after this."""
MOST_SHOWN = 100
FIRST = 0.0
"""Nothing waits for longer than what is due since then."""
KEEP, KEEP_FOR = 10_000, 30 * 86_400.0
"""So much is kept of what happened to the whole fleet."""

UNREADABLE = "its sheet cannot be read here: upgrade dibs, or thaw the fleet"
NOT_THERE = (AttributeError, KeyError, RecursionError, TypeError, ValueError)
"""So a sheet fails that was written by a newer dibs, or by another hand."""

NO_NODE = "there was no live node"
NO_FUNCTION = "no live node can do"
NO_LABEL = "no live node that can do it has the label"
"""So begins what is said of a job that nobody can do."""

T = TypeVar("T")
State = Literal["up", "slow", "down", "left"]


@value
class Node:
    """What a node says of itself with each beat."""

    name: str
    since: float
    beat_at: float
    deployment: str = ""
    version: str = ""
    labels: tuple[str, ...] = ()
    workers: int = 0
    skew: float = 0.0
    """By how much its machine's clock is ahead of the store's, as far as it can tell."""
    round_takes: float = 0.0
    """How long its longest round took since the last beat."""
    runs: tuple[str, ...] = ()
    """The jobs it is at, the first hundred."""
    holds: tuple[str, ...] = ()
    """The locks it holds, the first hundred."""
    left_at: float | None = None

    @property
    def seen_at(self) -> float:
        """When it was last heard of."""
        return self.beat_at if self.left_at is None else self.left_at

    def state(self, now: float) -> State:
        """How it is, at this moment of the store's clock."""
        if self.left_at is not None:
            return "left"
        silence = now - self.beat_at
        if silence > DOWN_AFTER:
            return "down"
        return "slow" if silence > SLOW_AFTER or self.round_takes > SLOW_ROUND else "up"

    def is_live(self, now: float) -> bool:
        """Whether it takes part."""
        return self.state(now) in {"up", "slow"}

    def forget_at(self) -> float:
        """When its sheet can be thrown away."""
        return self.seen_at + REMEMBERED + (DOWN_AFTER if self.left_at is None else 0.0)

    def text(self) -> str:
        """All of it, for its sheet."""
        return written(spare(self))


def node_of(sheet: Sheet) -> Node:
    """The node that is on this sheet."""
    told = json.loads(sheet.text)
    lists = {name: tuple(told.get(name, ())) for name in ("labels", "runs", "holds")}
    return sound(Node(**known(Node, {**told, **lists})))


@value
class Fleet:
    """All nodes and deployments, as they were at a moment of the store's clock."""

    at: float
    nodes: Sequence[Node] = ()
    deployments: Mapping[str, Deployment] = field(default_factory=dict[str, Deployment])
    unread: Mapping[str, str] = field(default_factory=dict[str, str])
    """The sheets that cannot be read here, by name, and why."""

    @property
    def live(self) -> Sequence[Node]:
        """The nodes that take part."""
        return [node for node in self.nodes if node.is_live(self.at)]

    @property
    def deployed(self) -> Sequence[Deployment]:
        """What live nodes have to say."""
        digests = {node.deployment for node in self.live}
        return [each for digest, each in self.deployments.items() if digest in digests]

    @property
    def left_over(self) -> Sequence[str]:
        """Deployments that no node stands for any more, nor did a moment ago, by digest."""
        stands = {node.deployment for node in self.nodes if self._is_recent(node.seen_at)}
        others = {digest: each for digest, each in self.deployments.items() if digest not in stands}
        return [digest for digest, each in others.items() if not self._is_recent(each.seen_at)]

    def lacks(self, job: Job) -> str:
        """Why no live node can do it; nothing if one can."""
        if not self.live:
            return NO_NODE
        able = [node for node in self.live if job.done_by in self._functions(node)]
        if not able:
            return f"{NO_FUNCTION} {job.done_by!r}"
        wanted = set(job.terms.labels)
        if any(wanted <= set(node.labels) for node in able):
            return ""
        return f"{NO_LABEL}{'s' if len(wanted) > 1 else ''} {', '.join(sorted(wanted))}"

    def _is_recent(self, moment: float) -> bool:
        return self.at - moment <= DOWN_AFTER

    def _functions(self, node: Node) -> Collection[str]:
        deployment = self.deployments.get(node.deployment)
        return () if deployment is None else deployment.definitions.keys()


def deployment_on(sheet: Sheet) -> Deployment:
    """The deployment that is on this sheet."""
    return deployment_of(json.loads(sheet.text))


def fleet_of(sheets: Sequence[Sheet], now: float) -> Fleet:
    """What these sheets say of it."""
    unread = dict[str, str]()
    nodes = _read(sheets, NODE, node_of, unread)
    deployments = _read(sheets, DEPLOYMENT, deployment_on, unread)
    return Fleet(now, nodes, {each.digest: each for each in deployments}, unread)


def _read(sheets: Sequence[Sheet], prefix: str, of: Callable[[Sheet], T], unread: dict[str, str]) -> Sequence[T]:
    """What is on the sheets whose names begin so; and those of which nobody knows."""
    read = list[T]()
    for sheet in [each for each in sheets if each.name.startswith(prefix)]:
        try:
            read.append(of(sheet))
        except NOT_THERE as why:
            unread[sheet.name] = repr(why)
    return read


def parted(node: Node, now: float) -> Node:
    """A node that has said that it leaves."""
    return replace(node, beat_at=now, left_at=now, runs=(), holds=())


# The whole fleet.


def frozen(found: Sheet | None, word: Word, *, until: float | None = None) -> Change:
    """The fleet's own sheet while nothing is to be claimed: it is the first that everybody has to look at."""
    if until is not None and until <= word.at:
        raise Refused("that moment has passed: name one that is yet to come, or none")
    pause = Pause(word.by, word.at, word.reason, until)
    return _on_the_fleet(found, pause, Act("frozen", word.at, word.by, word.reason, until=until))


def thawed(found: Sheet | None, word: Word) -> Change:
    """The fleet's own sheet when all goes on."""
    if found is None or freeze_of(found, word.at) is None:
        raise Refused("the fleet is not frozen")
    return _on_the_fleet(found, None, Act("thawed", word.at, word.by, word.reason))


def melted(found: Sheet | None, now: float) -> Change | None:
    """The same when the time of a freeze is over; `None` if it is not, or somebody was quicker."""
    if found is None or _freeze_on(found) is None or freeze_of(found, now) is not None:
        return None
    return _on_the_fleet(found, None, None, now=now)


def freeze_of(sheet: Sheet, now: float) -> Pause | None:
    """Whether the whole fleet is frozen, and why; `None` if it is not, or not any more."""
    pause = _freeze_on(sheet)
    return pause if pause is not None and pause.holds(now) else None


def _freeze_on(sheet: Sheet) -> Pause | None:
    """What is on the fleet's own sheet: who cannot read it does not claim anything until it is written anew."""
    try:
        told = json.loads(sheet.text)["frozen"]
        return None if told is None else sound(Pause(**told))
    except NOT_THERE:
        return Pause("", 0.0, UNREADABLE)


def silence(node: str, since: float, until: float) -> Entry:
    """What a node notes of a store that was silent, once it is not any more."""
    return Act("silent", until, node, since=since, until=until).entry(FLEET, FLEET)


def absence(node: str, seen: Fleet) -> Entry | None:
    """What a node notes that comes and finds nobody: there was none since the last was heard of, if any ever was."""
    others = [each for each in seen.nodes if each.name != node]
    if any(each.is_live(seen.at) for each in others):
        return None
    since = max((each.seen_at for each in others), default=None)
    return Act("unattended", seen.at, node, since=since, until=seen.at).entry(FLEET, FLEET)


def _on_the_fleet(found: Sheet | None, pause: Pause | None, act: Act | None, *, now: float = 0.0) -> Change:
    text = written({"frozen": None if pause is None else spare(pause)})
    entries = () if act is None else (act.entry(FLEET, FLEET),)
    revision = 0 if found is None else found.revision
    acts_at = None if pause is None else FIRST
    return Change(FLEET, revision, text, acts_at, now, inf, entries=entries, keep=KEEP, keep_for=KEEP_FOR)
