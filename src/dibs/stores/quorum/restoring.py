"""How a server that has forgotten the sheets is told them by the others, before it counts again for any of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dibs.model.register import Cell, is_restorable
from dibs.stores.quorum.cells import Copies

if TYPE_CHECKING:
    from dibs.ports.store import Command
    from dibs.stores.quorum.council import Council, Node
    from dibs.stores.quorum.node import NodeStore

PAUSE, LONGEST = 0.05, 0.5
"""How soon it is tried again, if there are too few to tell; or if some do not answer, who may count as away by then."""


class Restoring:
    """One try. It needs no clock: those who tell heed nothing any more that may be settled by its old votes."""

    def __init__(self, council: Council, store: NodeStore) -> None:
        self._council, self._store = council, store
        self._answers: dict[int, Any] = {}

    def begin(self, node: Node) -> None:
        """Ask whether it still has forgotten, unless that was done a moment ago."""
        council, now = self._council, self._council.now()
        if now < node.restore_at:
            return
        node.restore_at, self._node = now + LONGEST, node
        token = f"{council.proposer}/{council.rank(0).number}"
        self._ask_each([node], lambda _: self._store.survey(token), self._is_found_bare)

    def _is_found_bare(self) -> bool:
        """Whether it waits to be told; the others are not asked before, or they might learn more until it does."""
        node, now = self._node, self._council.now()
        token = self._answers[node.number]
        if not isinstance(token, str):
            return False
        self._token = token
        others = [other for other in self._council.nodes if not other.is_away(now) and other is not node]
        self._ask_each(others, lambda _: self._store.survey(), self._surveyed)
        return True

    def _surveyed(self) -> bool:
        """Whether enough have answered; then those who know are asked what."""
        heard = self._answers
        whole = {number: each for number, each in heard.items() if isinstance(each, int)}
        self._bare = 1 + sum(isinstance(each, str) for each in heard.values())
        if not self._is_enough(len(whole)):
            return False
        self._floor = max(whole.values(), default=0) + 1
        tellers = [self._council.nodes[number] for number in whole]
        self._ask_each(tellers, lambda _: self._store.copy(self._floor), self._told)
        return True

    def _told(self) -> bool:
        told = [each for each in self._answers.values() if isinstance(each, Copies)]
        if not self._is_enough(len(told)):
            return False
        self._adopt(told)
        return True

    def _is_enough(self, whole: int) -> bool:
        """Where too many have forgotten, whatever the others know is better than nothing."""
        return is_restorable(self._council.size, whole=whole, bare=self._bare if self._are_all_heard else 0)

    def _adopt(self, told: list[Copies]) -> None:
        found: dict[str, tuple[Cell, float]] = {}
        for name, each in (pair for copies in told for pair in copies.sheets.items()):
            if name not in found or each[0].rank > found[name][0].rank:
                found[name] = each
        self._answers = {}
        floor = max([self._floor, *(copies.most_promised for copies in told)])
        command = self._store.adopt(self._token, floor, found)
        self._council.ask(self._node, command, lambda _number, _answer: self._end())

    def _ask_each(
        self, nodes: list[Node], question: Callable[[Node], Command[Any]], is_done: Callable[[], bool]
    ) -> None:
        """Ask these, until it is done; who answers later is not heard."""
        answers = self._answers = dict[int, Any]()

        def told(number: int, answer: Any) -> None:
            if answers is self._answers:
                answers[number] = answer
                self._are_all_heard = len(answers) == len(nodes)
                if not is_done() and self._are_all_heard:
                    self._end()

        self._are_all_heard = not nodes
        for node in nodes:
            self._council.ask(node, question(node), told)
        if not nodes:
            is_done()

    def _end(self) -> None:
        self._answers = {}
        self._node.restore_at = self._council.now() + PAUSE
