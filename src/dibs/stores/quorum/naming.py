"""How a server that has forgotten all becomes one that counts again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dibs.errors import StoreUnreachable
from dibs.model.quorum import Christening, Register, christening

if TYPE_CHECKING:
    from dibs.stores.quorum.council import Council, Node
    from dibs.stores.quorum.node import NodeStore

SELDOM = 1.0
"""How often it is tried again: others may be back by then, who know that it need not be silent for so long."""


class Naming:
    """One try: ask all what they know, and tell the new one. It may be too early, or too few may be there."""

    def __init__(self, council: Council, store: NodeStore, done: Callable[[], None] | None = None) -> None:
        self._council, self._store, self._done = council, store, done
        self._registers: dict[int, Register | None] = {}

    def begin(self, node: Node) -> None:
        """Begin, unless somebody is at it, or it is known to be too early."""
        now = self._council.now()
        if node.is_naming or now < node.name_at:
            return
        node.is_naming, node.name_at = True, now + 0.05
        is_ripe = node.is_ripe
        for other in self._council.nodes:
            if other.is_away(now):
                self._registers[other.number] = None

        def told(number: int, answer: Any) -> None:
            self._registers[number] = None if isinstance(answer, StoreUnreachable) else answer
            if len(self._registers) == self._council.size:
                self._tell(node, is_ripe=is_ripe)

        for other in self._council.nodes:
            if other.number not in self._registers:
                self._council.ask(other, self._store.census(), told)

    def tell(self, node: Node, registers: list[Register | None]) -> None:
        """The same, once all have been asked."""
        node.is_naming = True
        self._registers = dict(enumerate(registers))
        self._tell(node, is_ripe=node.is_ripe)

    def _tell(self, node: Node, *, is_ripe: bool) -> None:
        own = self._registers[node.number]
        found = christening([self._registers[other.number] for other in self._council.nodes])
        if own is None or own.is_born or found is None:
            self._end(node)
            return
        is_over = found.wait > 0 and own.silent_for >= found.wait
        if is_over and not is_ripe:  # what the others know is to be read after its silence, not before
            node.is_ripe, node.is_naming, node.name_at = True, False, 0.0
            Naming(self._council, self._store, self._done).begin(node)
            return
        fresh = own.fresh if is_ripe or found.wait == 0.0 else None
        self._council.ask(node, self._store.christen(found, fresh), self._told(node, found))

    def _told(self, node: Node, found: Christening) -> Callable[[int, Any], None]:
        def told(_number: int, left: Any) -> None:
            if not isinstance(left, StoreUnreachable):
                node.name_at = self._council.now() + min(left, SELDOM)
            self._end(node)

        return told

    def _end(self, node: Node) -> None:
        node.is_naming = node.is_ripe = False
        if self._done is not None:
            self._done()
