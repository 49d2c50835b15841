"""A process that reads and sets a sheet on several servers, whose answers come when a test says so."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from dibs.errors import StoreUnreachable
from dibs.model.register import proposer_of
from dibs.model.sheet import Change, Look
from dibs.ports.store import Reply
from tests.stores.quorum.hands import Hands, HeldLine, Outcome

NAME = "~worker:a"


def knowing(size: int = 3) -> Hands:
    """Its servers have forgotten nothing, and it has heard from each of them."""
    made = Hands(size)
    for server, node in zip(made.servers, made.council.nodes, strict=True):
        server.floor = 0
        node.era = server.era
    return made


def looks(hands: Hands) -> list[Outcome]:
    return hands.put(hands.store.sheets([NAME]).words)


def change(revision: int, text: str | None, **more: Any) -> Change:
    return Change(NAME, revision, text, None, -inf, more.pop("not_after", inf), **more)


def sets(hands: Hands, revision: int, text: str | None, **more: Any) -> list[Outcome]:
    return hands.put(hands.store.amend([change(revision, text, **more)]).words)


def is_set(hands: Hands, revision: int, text: str | None, **more: Any) -> int:
    """Its new revision."""
    answers = sets(hands, revision, text, **more)
    hands.answer()
    return made(answers)


def made(answers: list[Outcome]) -> int:
    [outcome] = answers
    assert isinstance(outcome, Reply), outcome
    [revision] = outcome.value
    assert isinstance(revision, int)
    return revision


def seen(answers: list[Outcome]) -> list[tuple[int, str]]:
    [outcome] = answers
    assert isinstance(outcome, Reply), outcome
    assert isinstance(outcome.value, Look)
    return [(sheet.revision, sheet.text) for sheet in outcome.value.sheets]


def told(hands: Hands) -> list[str | None]:
    """What each has accepted."""
    cells = [server.cells.get(NAME) for server in hands.servers]
    return [None if cell is None or cell.kept is None else cell.kept.text for cell in cells]


def trouble(answers: list[Outcome]) -> StoreUnreachable:
    [outcome] = answers
    assert isinstance(outcome, StoreUnreachable), outcome
    return outcome


def lost(hands: Hands, *numbers: int) -> None:
    """What is on its way to these is lost; then they are there again."""
    for number in numbers:
        hands.lines[number].break_off()
        hands.council.ask_again(number)


def let_through(hands: Hands, *rounds: int) -> None:
    """So many questions on each line."""
    for line, count in zip(hands.lines, rounds, strict=True):
        line.answer(count)


def forgets(hands: Hands, number: int) -> None:
    """One of the servers forgets all; of locks it knows at once that there are none."""
    hands.servers[number].forget()
    hands.servers[number].longest = 0.0


class Peer:
    """Another process, with its own lines to the same servers, which has heard from each of them."""

    def __init__(self, hands: Hands, name: str) -> None:
        self._hands = hands
        self.council, self._wire = hands.another()
        self.council.proposer = proposer_of(name)
        self.answers: list[Outcome] = []
        """To what it asked last."""
        self.lines = [node.line for node in self.council.nodes if isinstance(node.line, HeldLine)]
        for server, node in zip(hands.servers, self.council.nodes, strict=True):
            node.era = server.era

    def looks(self) -> list[Outcome]:
        return self._put(self._hands.store.sheets([NAME]).words)

    def sets(self, revision: int, text: str) -> list[Outcome]:
        return self._put(self._hands.store.amend([change(revision, text)]).words)

    def _put(self, words: Sequence[Any]) -> list[Outcome]:
        self.answers = []
        self._wire.put(words, self.answers.append)
        return self.answers

    def answer(self, *numbers: int) -> None:
        """Let all through on these lines, or on all, until nothing waits there."""
        chosen = [self.lines[number] for number in numbers] or self.lines
        while any(line.posted for line in chosen):
            for line in chosen:
                line.answer()
