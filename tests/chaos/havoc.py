"""Nodes of a fleet that are killed, stopped, sent away and started again, at moments that nobody has chosen."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from dibs.runtime.clock import boottime
from tests.chaos.fleet import Fleet
from tests.chaos.stage import Actor

LONGEST_PEACE = 0.6


@dataclass(slots=True)
class Place:
    """Where a node is, or will be again."""

    env: Mapping[str, str]
    node: Actor | None = None
    is_known: bool = False
    """Whether it has said that it serves: before that, it does not heed signals."""
    is_stopped: bool = False


@dataclass(slots=True)
class Havoc:
    """One seed is one story, as far as real programs go by a script."""

    fleet: Fleet
    seed: int
    environments: Sequence[Mapping[str, str]]
    harmed: set[int] = field(default_factory=set[int])
    """Who was killed or stopped: whatever is lost, was theirs."""

    def play(self, seconds: float) -> None:
        """For so long; then all go on."""
        random, nobody = Random(self.seed), threading.Event()
        places = [Place(env) for env in self.environments]
        for place in places:
            self._start(place)
        for place in places:
            self._know(place, place.node)
        ends_at = boottime() + seconds
        while boottime() < ends_at:
            nobody.wait(random.uniform(0, LONGEST_PEACE))  # by the clock, whatever they do just now
            self._strike(random.choice(places), random)
        for place in places:
            if place.node is None or place.is_stopped:
                self._strike(place, random)
            self._know(place, place.node)

    def _strike(self, place: Place, random: Random) -> None:
        if place.node is None:
            self._start(place)
        elif place.is_stopped:
            self._continue(place, place.node)
        else:
            random.choice([self._kill, self._kill, self._stop, self._stop, self._send_away])(place, place.node)

    def _know(self, place: Place, node: Actor | None) -> None:
        if node is not None and not place.is_known:
            node.hear("serves")
            place.is_known = True

    def _start(self, place: Place) -> None:
        place.node, place.is_known = self.fleet.start(place.env), False

    def _kill(self, place: Place, node: Actor) -> None:
        self.harmed.add(node.pid)
        self.fleet.kill_one(node)
        place.node = None

    def _stop(self, place: Place, node: Actor) -> None:
        self.harmed.add(node.pid)
        node.stop()
        place.is_stopped = True

    def _continue(self, place: Place, node: Actor) -> None:
        node.go_on()
        place.is_stopped = False

    def _send_away(self, place: Place, node: Actor) -> None:
        self._know(place, node)
        self.fleet.send_away(node)
        place.node = None
