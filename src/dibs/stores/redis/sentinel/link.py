"""One sentinel, followed on a thread of its own: it is asked where the master is, and tells when that changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import ReferenceType

from hiredis import HiredisError, PushNotification, Reader, ReplyError

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.model.value import value
from dibs.stores.redis.dialogue import NOT_DONE, NOTHING, READ_SIZE
from dibs.stores.redis.endpoint import hang_up
from dibs.stores.redis.resp import encode

if TYPE_CHECKING:
    from redis.connection import AbstractConnection

    from dibs.stores.redis.endpoint import Endpoint
    from dibs.stores.redis.sentinel.bell import Bell
    from dibs.stores.redis.sentinel.watch import Watch

WITHIN = 1.0
"""How long a sentinel has to answer."""
EVERY = 2.0
"""How often it is asked though nobody wants to know: what it tells unasked may have been lost on the way."""
AGAIN = 0.5
"""How long after a failure it is tried again, unless somebody wants to know sooner."""
SWITCH = "+switch-master"


@value
class Word:
    """Where the master is, and in which epoch of theirs that was agreed on: what is said of a later one holds."""

    epoch: int
    address: tuple[str, int]


def follow(known: ReferenceType[Watch], place: int, bell: Bell) -> None:
    """Its thread's whole life. It knows the watch only weakly: a client that nobody uses any more can be collected."""
    while (watch := known()) is not None and not watch.is_over:
        number, endpoint, service = watch.asked, watch.service.sentinel(place), watch.service.name
        try:
            link = _Link(endpoint, service)
        except StoreUnreachable as trouble:
            watch.failed(place, number, trouble)
            del watch
            bell.wait(AGAIN)
            continue
        del watch
        try:
            while _ask(known, place, link):
                bell.wait(EVERY, link.opened)
        finally:
            link.close()


def _ask(known: ReferenceType[Watch], place: int, link: _Link) -> bool:
    """Ask once, and pass it on; false if there is nobody left to ask, or to tell."""
    watch = known()
    if watch is None or watch.is_over:
        return False
    number = watch.asked
    try:
        word = link.master()
    except StoreUnreachable as trouble:
        watch.failed(place, number, trouble)
        return False
    except (OSError, HiredisError) as error:
        watch.failed(place, number, link.lost(error))
        return False
    watch.told(place, number, word)
    return True


def _epoch(facts: Mapping[bytes, bytes] | Sequence[bytes]) -> int:
    """What it knows is a map, or in the older protocol a list."""
    pairs = facts if isinstance(facts, Mapping) else dict(zip(facts[::2], facts[1::2], strict=True))
    return int(pairs[b"config-epoch"])


class _Link:
    """An open connection to it."""

    def __init__(self, endpoint: Endpoint, service: str) -> None:
        self._server, self._service = endpoint.server, service
        self._connection: AbstractConnection
        self._connection, self.opened = endpoint.connect(WITHIN)
        self.opened.settimeout(WITHIN)
        self._reader: Any = Reader(notEnoughData=NOTHING)
        if endpoint.tells_askers:
            with suppress(OSError, HiredisError):  # then it is only asked, which will tell what is wrong
                self.opened.sendall(encode("SUBSCRIBE", SWITCH))

    def master(self) -> Word:
        """Where the master is by its word, and since when."""
        address = self._said("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self._service)
        facts = self._said("SENTINEL", "MASTER", self._service)
        if isinstance(address, ReplyError) or isinstance(facts, ReplyError) or address is None:
            raise self._refused(address if isinstance(address, ReplyError) else facts)
        return Word(_epoch(facts), (address[0].decode(), int(address[1])))

    def lost(self, error: Exception) -> StoreRefused:
        """It does not answer."""
        return StoreRefused(self._server, after=0.0, why=str(error) or "no answer")

    def close(self) -> None:
        hang_up(self._connection)

    def _said(self, *words: str) -> Any:
        """Its answer; whatever it tells unasked is a reason to ask, which we do."""
        self.opened.sendall(encode(*words))
        while True:
            said = self._reader.gets()
            if said is NOTHING:
                came = self.opened.recv(READ_SIZE)
                if not came:
                    raise ConnectionResetError("it closed the connection")
                self._reader.feed(came)
            elif type(said) is not PushNotification:
                return said

    def _refused(self, said: Any) -> StoreRefused:
        text = str(said) if isinstance(said, ReplyError) else ""
        if "No such master" in text or not text:
            why, fix = f"it watches no service called {self._service}", "check the name of the service in the URL"
        else:
            why, fix = text, NOT_DONE.get(text.partition(" ")[0], "see what its log says")
        return StoreRefused(self._server, after=0.0, why=why, fix=fix, is_outage=False)
