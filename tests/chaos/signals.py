"""The roles of programs that signals strike in the middle of things."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

import dibs
from tests.chaos.actor import say
from tests.chaos.cast import in_the_next_write, refused


def be_interrupted_all_the_time(url: str, interrupts: int) -> None:
    """As if somebody pressed Ctrl-C at all possible moments; each is caught, and the work goes on."""
    d, may_strike, struck = dibs.connect(url, quiet=True), False, 0

    def strike(*_: object) -> None:
        nonlocal may_strike
        if may_strike:
            may_strike = False
            raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, strike)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.000_37)
    while struck < interrupts:
        try:
            while True:
                may_strike = True
                with d.lock("a", ttl=1, wait=20):
                    pass
        except KeyboardInterrupt:
            struck += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    say("interrupted", struck)
    lease = d.lock("a", ttl=1, wait=20).acquire()
    say("in", lease.fence)
    lease.release()
    say("out")


def on_a_signal_in_a_write(act: Callable[[], object]) -> None:
    """Let a signal strike in the middle of the next write, and its handler do something."""
    signal.signal(signal.SIGUSR1, lambda *_: act())
    in_the_next_write(lambda: signal.raise_signal(signal.SIGUSR1))


def interrupt_a_write(url: str) -> None:
    """The interrupt of the keyboard, when all is written but not yet for good."""
    d = dibs.connect(url, quiet=True)

    def interrupt() -> None:
        raise KeyboardInterrupt

    on_a_signal_in_a_write(interrupt)
    try:
        d.lock("a").acquire()
    except KeyboardInterrupt:
        say("interrupted")
    say("state", d.inspect("a").state)
    d.lock("a", wait=10).acquire().release()
    say("out")


def ask_in_a_handler(url: str) -> None:
    """A handler that wants a lock while its own thread is in the middle of asking."""
    d = dibs.connect(url, quiet=True)
    on_a_signal_in_a_write(lambda: say("handler", refused(lambda: d.lock("b", wait=0.1).acquire())))
    lease = d.lock("a").acquire()
    say("in", lease.fence)
    lease.release()
    d.lock("b", wait=10).acquire().release()


def close_in_a_handler(url: str) -> None:
    """A handler that tidies up before the program ends."""
    d = dibs.connect(url, quiet=True)

    def tidy_up() -> None:
        d.close()
        say("closed")

    on_a_signal_in_a_write(tidy_up)
    say("took", refused(d.lock("a", ttl=1).acquire))


def exit_in_a_handler(url: str) -> None:
    """A handler that ends the program while it holds a lock and asks for another."""
    d = dibs.connect(url, quiet=True)
    lease = d.lock("held", ttl=60).acquire()
    say("in", lease.fence)
    on_a_signal_in_a_write(lambda: sys.exit(0))
    d.lock("a", ttl=60).acquire()
