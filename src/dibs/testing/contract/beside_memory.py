"""A store beside the specification: both are asked the same, at the same moments, over one line of the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from dibs.stores.direct import DirectLocks
from dibs.stores.memory.server import MemoryServer
from dibs.testing.contract.lines import LINES, AsyncLine, BlockingLine, Ear

if TYPE_CHECKING:
    from dibs.model.asks import Push
    from dibs.ports.store import Command
    from dibs.ports.wire import Backend

MakeBackend = Callable[[Callable[[], float]], "Backend"]


class BesideMemory(RuleBasedStateMachine):
    """Both of them, and the clock; what they are asked is said by the rules of whoever inherits this."""

    make_backend: MakeBackend
    make_line: Callable[[Backend, Ear], BlockingLine | AsyncLine]
    can_advance = True

    def __init__(self) -> None:
        super().__init__()
        self._now = 1_000_000.0
        self._ear = Ear()
        backend = type(self).make_backend(lambda: self._now)
        self._line = type(self).make_line(backend, self._ear)
        self._locks = backend.locks("n")
        self._look_at_the_clock()
        self._spec, self._spec_locks = MemoryServer(), DirectLocks("n")
        self._spec_pushes: list[Push] = []

    @precondition(lambda self: self.can_advance)
    @rule(duration=st.sampled_from([0.5, 6.0, 10.0, 25.0]))
    def let_time_pass(self, duration: float) -> None:
        """What lasts for a while runs out; what is for later becomes due."""
        self._now += duration

    def _look_at_the_clock(self) -> None:
        """Where the store has a clock of its own, the specification is asked by that one."""
        if not self.can_advance:
            self._now = self._ask(self._locks.time())

    def _ask(self, command: Command[Any]) -> Any:
        return command.read(self._line.value(command))

    def _ask_spec(self, command: Command[Any]) -> Any:
        answer, pushes = self._spec.execute(command.words, self._now, lambda channel: channel == self._line.channel)
        self._spec_pushes.extend(pushes)
        return command.read(answer)

    def teardown(self) -> None:
        """Hang up."""
        self._line.close()


def case_of(
    machine: type[BesideMemory],
    make_backend: MakeBackend,
    *,
    colour: Literal["blocking", "asyncio"] = "blocking",
    can_advance: bool = True,
    examples: int = 100,
    steps: int = 40,
) -> Any:
    """A test case that runs a store beside the specification, over the line of one colour.

    `make_backend` is given a clock that the test steps. A store that has no use for it sets `can_advance=False`;
    expiry is then left to the tests that wait for it.
    """

    class ThisStore(machine):  # type: ignore[misc,valid-type]
        pass

    ThisStore.__qualname__ = ThisStore.__name__ = f"ThisStore{machine.__name__}"
    ThisStore.make_backend = staticmethod(make_backend)
    ThisStore.make_line = LINES[colour]
    ThisStore.can_advance = can_advance
    case = ThisStore.TestCase
    case.settings = settings(max_examples=examples, stateful_step_count=steps, deadline=None)
    return case
