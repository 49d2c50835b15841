"""Functions that run once a window."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dibs import ConfigError, Dibs, LeaseLost, Skipped
from dibs.events import CallAdmitted, CallSkipped, JoinedQueue
from dibs.testing.contract import Diary
from tests.client.others import Async, Blocking, Colour, somebody_else

LONG = "366d"
"""So long that no test meets the end of a window."""


@pytest.fixture
def d(anywhere: Dibs) -> Dibs:
    return anywhere


class Work:
    """What is to be done once; it notes whatever it is called with."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.fails = 0

    def __call__(self, key: str) -> str:
        if self.fails:
            self.fails -= 1
            raise KeyError(key)
        self.done.append(key)
        return key.upper()


def test_the_second_call_of_a_window_is_skipped_and_says_so(d: Dibs, colour: Colour, diary: Diary) -> None:
    work = Work()
    digest = colour.of(d.once("digest:{key}", per=LONG), work)
    assert digest("ann") == "ANN"
    made_at = datetime.now(UTC).timestamp()
    skipped = digest("ann")
    assert isinstance(skipped, Skipped)
    assert (skipped.name, skipped.why) == ("digest:ann", "done")
    assert skipped.holder
    assert skipped.since == pytest.approx(made_at, abs=60)
    assert str(skipped.holder) in repr(skipped)
    assert digest("bob") == "BOB"
    assert work.done == ["ann", "bob"]
    assert [(told.name, told.why, told.holder) for told in diary.of(CallSkipped)] == [
        ("digest:ann", "done", skipped.holder)
    ]
    assert len(diary.of(CallAdmitted)) == 2
    assert not d.locks()


def test_a_run_that_raises_frees_its_window(d: Dibs, colour: Colour) -> None:
    work = Work()
    work.fails = 2
    digest = colour.of(d.once("digest:{key}", per=LONG), work)
    for _ in range(2):
        with pytest.raises(KeyError, match="ann"):
            digest("ann")
    assert digest("ann") == "ANN"
    assert digest("ann").why == "done"


def test_a_result_that_is_false_is_a_success(d: Dibs, colour: Colour) -> None:
    calls: list[str] = []
    digest = colour.of(d.once("digest:{key}", per=LONG), calls.append)
    assert digest("ann") is None
    assert digest("ann").why == "done"
    assert calls == ["ann"]


def test_while_another_is_at_it_a_call_is_skipped_and_says_who(d: Dibs, colour: Colour) -> None:
    work = Work()
    digest = colour.of(d.once("digest:{key}", per=LONG), work)
    with somebody_else(d, "digest:ann", purpose="mail"):
        skipped = digest("ann")
    assert (skipped.why, skipped.purpose) == ("busy", "mail")
    assert digest("ann") == "ANN"


@pytest.mark.parametrize(("fails", "finds"), [(0, "done"), (1, "runs")])
def test_one_who_waits_finds_it_done_or_does_it(d: Dibs, colour: Colour, diary: Diary, fails: int, finds: str) -> None:
    """By what became of the one it waited for."""
    begun, go_on = threading.Event(), threading.Event()

    def first(key: str) -> str:
        begun.set()
        assert go_on.wait(20)
        if fails:
            raise KeyError(key)
        return "first"

    def attempt() -> None:
        with suppress(KeyError):
            Blocking.of(d.once("digest:{key}", per=LONG), first)("ann")

    digest, found = colour.of(d.once("digest:{key}", per=LONG, wait="20s"), str.upper), list[Any]()
    earlier, later = threading.Thread(target=attempt), threading.Thread(target=lambda: found.append(digest("ann")))
    earlier.start()
    assert begun.wait(20)
    later.start()
    diary.wait_for(JoinedQueue, 1)
    go_on.set()
    earlier.join()
    later.join()
    assert [getattr(value, "why", "runs") for value in found] == [finds]
    assert not d.locks()


def test_a_lost_lease_is_told_and_its_window_is_free(d: Dibs) -> None:
    def evict() -> None:
        [view] = d.locks()
        assert view.held is not None
        d.force_release(view.name, fence=view.held.fence)

    @d.once("job:{key}", per=LONG)
    def work(key: str) -> str:
        evict()
        return "too late"

    @d.once("job:{key}", per=LONG)
    async def awork(key: str) -> str:
        evict()
        await asyncio.Event().wait()
        return "never"

    with pytest.raises(LeaseLost, match="by force"):
        work("a")
    with pytest.raises(LeaseLost, match="by force"):
        asyncio.run(awork("a"))
    assert Blocking.of(d.once("job:{key}", per=LONG), str.upper)("a") == "A"


def test_calling_itself_is_skipped_and_not_done_twice(d: Dibs) -> None:
    inner: list[object] = []

    @d.once("job", per=LONG)
    def work() -> str:
        inner.append(work())
        return "outer"

    assert work() == "outer"
    assert [getattr(found, "why", None) for found in inner] == ["busy"]


def test_methods_and_functions_keep_their_names(d: Dibs) -> None:
    class Mailer:
        def __init__(self, number: int) -> None:
            self.number = number

        @d.once("mail:{self.number}", per="1h")
        def send(self, text: str) -> str:
            """Sends it."""
            return f"{self.number}: {text}"

        @staticmethod
        @d.once("rates:{day}", per="1h")
        def rates(day: str) -> str:
            return day

        @d.once("all", per="1h")
        @classmethod
        def everything(cls) -> str:
            return cls.__name__

    assert (Mailer(1).send("a"), Mailer(2).send("b")) == ("1: a", "2: b")
    assert not Mailer(1).send("c")
    assert (Mailer.rates("monday"), Mailer.everything()) == ("monday", "Mailer")
    assert (Mailer.send.__name__, Mailer.send.__doc__) == ("send", "Sends it.")


# --- many at once --------------------------------------------------------------------------------------------------


def test_of_many_threads_one_succeeds(d: Dibs) -> None:
    work = Work()
    work.fails = 3
    digest, together = Blocking.of(d.once("digest:{key}", per=LONG, wait="20s"), work), threading.Barrier(16)

    def attempt(_: int) -> object:
        together.wait()
        try:
            return digest("ann")
        except KeyError:
            return "failed"

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(attempt, range(16)))
    assert work.done == ["ann"]
    assert (found.count("ANN"), found.count("failed")) == (1, 3)
    assert sum(isinstance(value, Skipped) for value in found) == 12


def test_of_many_tasks_one_succeeds(d: Dibs) -> None:
    work, came = Work(), list[int]()

    async def main() -> list[str | Skipped]:
        all_came = asyncio.Event()

        @d.once("digest:{key}", per=LONG, wait="20s")
        async def digest(key: str) -> str:
            await all_came.wait()
            return work(key)

        async def come(number: int) -> str | Skipped:
            came.append(number)
            if len(came) == 30:
                all_came.set()
            return await digest("ann")

        return await asyncio.gather(*map(come, range(30)))

    found = asyncio.run(main())
    assert work.done == ["ann"]
    assert found.count("ANN") == 1
    assert {value.why for value in found if isinstance(value, Skipped)} == {"done"}


# --- several processes ---------------------------------------------------------------------------------------------

WORKER = """
import sys, dibs
d = dibs.connect(sys.argv[1], quiet=True)

@d.once("digest:{key}", per="366d", wait="20s", ttl=sys.argv[2], remember=True)
def digest(key):
    print("in", flush=True)
    sys.stdin.readline()
    return key.upper()

print("comes", flush=True)
print(digest("ann"), flush=True)
"""


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts a program that does it once, when it is told to."""
    started: list[subprocess.Popen[str]] = []

    def start(ttl: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", WORKER, f"sqlite:///{tmp_path}/dibs.sqlite", ttl]
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_of_two_processes_one_works_and_both_have_the_result(worker: Callable[[str], subprocess.Popen[str]]) -> None:
    first = worker("30s")
    assert (heard(first), heard(first)) == ("comes\n", "in\n")
    second = worker("30s")
    assert heard(second) == "comes\n"
    assert first.communicate("\n", timeout=30)[0] == "ANN\n"
    assert second.communicate("\n", timeout=30)[0] == "ANN\n", "and it was never in"


def test_a_killed_process_frees_its_window_when_its_ttl_is_over(
    worker: Callable[[str], subprocess.Popen[str]],
) -> None:
    first = worker("500ms")
    assert (heard(first), heard(first)) == ("comes\n", "in\n")
    first.kill()
    first.wait()
    assert worker("500ms").communicate("\n", timeout=30)[0] == "comes\nin\nANN\n"
    assert worker("500ms").communicate("\n", timeout=30)[0] == "comes\nANN\n"


# --- what cannot be meant ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"per": "sometimes"}, "per: 'sometimes' is not a duration"),
        ({"per": 0}, "per=0 is out of range"),
        ({"per": "1d", "tz": "Europe/Atlantis"}, "tz='Europe/Atlantis': no such time zone is known here"),
        ({"per": "1d", "tz": "../../etc/passwd"}, "no such time zone"),
        ({"per": "1d", "tz": "Europe"}, "no such time zone"),
        ({"per": "1d", "tz": 5}, "tz=5: no such time zone"),
        ({"per": "1d", "tz": ""}, "tz='': no such time zone"),
        ({"per": "1d", "since": "start"}, "since='start': say 'success'"),
        ({"per": "5m", "since": "success", "tz": "Europe/Berlin"}, "goes with no tz="),
        ({"per": "7m", "tz": "Europe/Berlin"}, "per='7m' with a time zone"),
        ({"per": "1d", "remember": "yes"}, "remember='yes': say True or False"),
        ({"per": "1d", "at_least": 5}, "at_least=5: work that is remembered ends its lock when it is done"),
        ({"per": "1d", "ttl": 0}, "ttl=0 is out of range"),
        ({"per": "1d", "on_outage": "pray"}, "on_outage='pray': say 'closed', 'skip'"),
        (
            {"per": "1d", "retries": 3},
            ": retries; there are max_hold, on_lost, on_outage, per, purpose, remember, renew, since, ttl, tz, wait$",
        ),
    ],
)
def test_what_makes_no_sense_is_told_where_it_is_said(d: Dibs, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        d.once("job", **options)


def test_what_no_call_could_fill_is_told_where_it_is_said(d: Dibs) -> None:
    once: Any = d.once
    with pytest.raises(ConfigError, match=r"\{user\} is no parameter: there are key"):
        Blocking.of(once("job:{user}", per=LONG), str.upper)
    with pytest.raises(ConfigError, match="names no lock"):
        once(str.upper, per=LONG)
    with pytest.raises(ConfigError, match="is a generator"):
        once("job", per=LONG)(lambda: (yield))
    once("report", per=LONG)(str.upper)
    with pytest.warns(UserWarning, match="are both locked by 'report'"):
        once("report", per=LONG)(str.lower)


def test_both_colours_know_of_one_another(d: Dibs) -> None:
    decorate = d.once("job:{key}", per=LONG, remember=True)
    assert Blocking.of(decorate, str.upper)("a") == Async.of(decorate, str.lower)("a") == "A"
