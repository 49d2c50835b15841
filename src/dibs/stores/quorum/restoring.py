"""How a server that has forgotten the sheets is told them by the others, before it counts again for any of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dibs.model.quorum import Absent
from dibs.model.register import Cell, is_restorable

if TYPE_CHECKING:
    from dibs.ports.store import Command
    from dibs.stores.quorum.council import Council, Node
    from dibs.stores.quorum.node import NodeStore

Copies = Mapping[str, tuple[Cell, float]]
PAUSE = 0.05
"""How soon it is tried again, if there are too few to tell."""


class Restoring:
    """One try. It needs no clock: those who tell heed nothing any more that may be settled by its old votes."""

    def __init__(self, council: Council, store: NodeStore) -> None:
        self._council, self._store = council, store
        self._answers: dict[int, Any] = {}

    def begin(self, node: Node) -> None:
        """Ask all what they know, unless somebody is at it."""
        now, council = self._council.now(), self._council
        if node.is_restoring or now < node.restore_at:
            return
        node.is_restoring, self._node = True, node
        number = council.rank(0).number
        self._token = f"{council.proposer}/{number}"
        others = [other for other in council.nodes if not other.is_away(now) and other is not node]
        self._ask_each([*others, node], self._survey_of, self._surveyed)

    def _survey_of(self, other: Node) -> Command[Any]:
        return self._store.survey(self._token if other is self._node else "")

    def _surveyed(self) -> None:
        size, heard = self._council.size, self._answers
        whole = {number: each for number, each in heard.items() if isinstance(each, int)}
        self._bare = sum(each is Absent.BARE for each in heard.values())
        is_bare = heard[self._node.number] is Absent.BARE
        if not is_bare or not is_restorable(size, whole=len(whole), bare=self._bare):
            self._end()
            return
        self._floor = max(whole.values(), default=0) + 1
        tellers = [self._council.nodes[number] for number in whole]
        if tellers:
            self._ask_each(tellers, lambda _: self._store.copy(self._floor), self._told)
        else:
            self._adopt([])

    def _told(self) -> None:
        told = [each for each in self._answers.values() if isinstance(each, Mapping)]
        if is_restorable(self._council.size, whole=len(told), bare=self._bare):
            self._adopt(told)
        else:
            self._end()

    def _adopt(self, told: list[Copies]) -> None:
        found: dict[str, tuple[Cell, float]] = {}
        for name, each in (pair for copies in told for pair in copies.items()):
            if name not in found or each[0].rank > found[name][0].rank:
                found[name] = each
        command = self._store.adopt(self._token, self._floor, found)
        self._council.ask(self._node, command, lambda _number, _answer: self._end())

    def _ask_each(self, nodes: list[Node], question: Callable[[Node], Command[Any]], done: Callable[[], None]) -> None:
        self._answers = answers = {}

        def told(number: int, answer: Any) -> None:
            answers[number] = answer
            if len(answers) == len(nodes):
                done()

        for node in nodes:
            self._council.ask(node, question(node), told)

    def _end(self) -> None:
        self._node.is_restoring, self._node.restore_at = False, self._council.now() + PAUSE
