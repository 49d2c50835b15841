"""What the sentinels say: where the master is. They are asked anew for each connection, and tell of each change."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet, ref

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.stores.redis.sentinel.bell import Bell
from dibs.stores.redis.sentinel.link import Word, follow

if TYPE_CHECKING:
    from dibs.stores.redis.sentinel.service import Service

A_WHILE = 0.5
"""How long a majority is waited for: then it is done by the word of those who have answered."""


class Follower(Protocol):
    """Who has connections to the master."""

    def moved(self, word: Word) -> None:
        """The master is there now."""
        ...


class Watch:
    """Follows all sentinels of one service, each on a thread of its own, from the first question on."""

    def __init__(self, service: Service) -> None:
        self.service, self._pid = service, os.getpid()
        self._changed = threading.Condition()
        self._followers: WeakSet[Follower] = WeakSet()
        self._bells = [Bell() for _ in service.sentinels]
        self._is_followed = self.is_closed = False
        self._asked = 0
        self._heard: dict[int, int] = {}
        self._words: dict[int, Word] = {}
        self._troubles: dict[int, StoreUnreachable] = {}
        self._word: Word | None = None

    @property
    def is_over(self) -> bool:
        """Whether it follows nobody any more: all have left, or this is a forked child."""
        return self.is_closed or self._pid != os.getpid()

    @property
    def asked(self) -> int:
        """How often it was asked where the master is."""
        return self._asked

    def join(self, follower: Follower) -> None:
        """Tell this one when the master moves."""
        with self._changed:
            self._followers.add(follower)

    def leave(self, follower: Follower) -> None:
        """This one has hung up; with the last one all ends. What a forked child has of it, it lets be."""
        if self.is_over:
            return
        with self._changed:
            self._followers.discard(follower)
            if not self._followers:
                self.close()

    def close(self) -> None:
        """Follow no more."""
        self.is_closed = True
        for bell in self._bells:
            bell.ring()

    def look(self) -> None:
        """Ask all of them anew, and do not wait for it."""
        with self._changed:
            self._asked += 1
            self._start()
        for bell in self._bells:
            bell.ring()

    def master(self, within: float) -> Word:
        """Where they say that the master is, once most of them have been asked anew; `StoreRefused` if nobody knows."""
        self.look()
        with self._changed:
            number = self._asked
            self._changed.wait_for(lambda: self._is_settled(number), min(within, A_WHILE))
            self._changed.wait_for(lambda: self._word or self._have_all_failed(), max(within - A_WHILE, 0.0))
            if self._word is None:
                raise self._unknown(within)
            return self._word

    def says(self, address: tuple[str, int]) -> bool:
        """Whether the master is still there, as far as they have told."""
        return self._word is None or self._word.address == address

    def told(self, place: int, number: int, word: Word) -> None:
        """One of them has answered what was asked by then."""
        with self._changed:
            self._heard[place], self._words[place] = number, word
            self._troubles.pop(place, None)
            before, self._word = self._word, max(self._words.values(), key=lambda each: each.epoch)
            self._changed.notify_all()
            has_moved = before is not None and before.address != self._word.address
            followers, now = list(self._followers) if has_moved else [], self._word
        for follower in followers:
            follower.moved(now)

    def failed(self, place: int, number: int, trouble: StoreUnreachable) -> None:
        """One of them could not be asked, or does not know."""
        with self._changed:
            self._heard[place], self._troubles[place] = number, trouble
            self._changed.notify_all()

    def _start(self) -> None:
        if self._is_followed or self.is_over:
            return
        self._is_followed, known = True, ref(self)
        for place, bell in enumerate(self._bells):
            threading.Thread(target=follow, args=(known, place, bell), name="dibs-sentinel", daemon=True).start()

    def _is_settled(self, number: int) -> bool:
        """Whether most have answered that question, or all who could not said so."""
        known = [place for place, heard in self._heard.items() if heard >= number]
        answered = [place for place in known if place not in self._troubles]
        return len(answered) > len(self._bells) // 2 or len(known) == len(self._bells)

    def _have_all_failed(self) -> bool:
        return len(self._troubles) == len(self._bells)

    def _unknown(self, within: float) -> StoreRefused:
        if not self._troubles:
            return StoreRefused.unconnected(self.service.shown, after=within)
        trouble = next((each for each in self._troubles.values() if not each.is_outage), None)
        trouble = trouble or next(iter(self._troubles.values()))
        why = f"{trouble.server}: {trouble.why}"
        return StoreRefused(self.service.shown, after=0.0, why=why, fix=trouble.fix, is_outage=trouble.is_outage)
