"""Functions that run once a window."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from dibs import ConfigError, Dibs, LeaseLost, Skipped
from dibs.events import CallAdmitted, CallSkipped, JoinedQueue, Stumbled
from dibs.model.note import LONGEST_NOTE
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import Diary
from tests.client.others import Async, Blocking, Colour, somebody_else


@pytest.fixture
def d(anywhere: Dibs) -> Dibs:
    return anywhere


class Clock:
    """The store's, which only the test moves."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC).timestamp()

    def __call__(self) -> float:
        return self.now

    def at(self, text: str) -> None:
        self.now = datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def clocked(clock: Clock, diary: Diary) -> Iterator[Dibs]:
    """A client of a store whose clock is ours."""
    with Dibs(MemoryBackend(clock=clock), observers=[diary]) as client:
        yield client


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
    digest = colour.of(d.once("digest:{key}", per="1d"), work)
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
    digest = colour.of(d.once("digest:{key}", per="1d"), work)
    for _ in range(2):
        with pytest.raises(KeyError, match="ann"):
            digest("ann")
    assert digest("ann") == "ANN"
    assert digest("ann").why == "done"


def test_a_result_that_is_false_is_a_success(d: Dibs, colour: Colour) -> None:
    calls: list[str] = []
    digest = colour.of(d.once("digest:{key}", per="1d"), calls.append)
    assert digest("ann") is None
    assert digest("ann").why == "done"
    assert calls == ["ann"]


def test_while_another_is_at_it_a_call_is_skipped_and_says_who(d: Dibs, colour: Colour) -> None:
    work = Work()
    digest = colour.of(d.once("digest:{key}", per="1d"), work)
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
        try:
            Blocking.of(d.once("digest:{key}", per="1d"), first)("ann")
        except KeyError:
            pass

    digest, found = colour.of(d.once("digest:{key}", per="1d", wait="20s"), str.upper), list[Any]()
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

    @d.once("job:{key}", per="1d")
    def work(key: str) -> str:
        evict()
        return "too late"

    @d.once("job:{key}", per="1d")
    async def awork(key: str) -> str:
        evict()
        await asyncio.Event().wait()
        return "never"

    with pytest.raises(LeaseLost, match="by force"):
        work("a")
    with pytest.raises(LeaseLost, match="by force"):
        asyncio.run(awork("a"))
    assert Blocking.of(d.once("job:{key}", per="1d"), str.upper)("a") == "A"


def test_calling_itself_is_skipped_and_not_done_twice(d: Dibs) -> None:
    inner: list[object] = []

    @d.once("job", per="1d")
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


# --- windows -------------------------------------------------------------------------------------------------------


def test_a_window_ends_with_the_calendar_of_the_store(clocked: Dibs, clock: Clock, colour: Colour) -> None:
    hourly = colour.of(clocked.once("job:{key}", per="1h"), str.upper)
    clock.at("2026-03-04 05:59:58")
    assert hourly("a") == "A"
    clock.at("2026-03-04 05:59:59.999")
    assert hourly("a").why == "done"
    clock.at("2026-03-04 06:00:00")
    assert hourly("a") == "A"
    assert hourly("a").why == "done"


def test_a_run_belongs_to_the_window_in_which_it_was_claimed(clocked: Dibs, clock: Clock, colour: Colour) -> None:
    def body(key: str) -> str:
        clock.at("2026-03-04 06:00:01")
        return key.upper()

    clock.at("2026-03-04 05:59:59")
    assert colour.of(clocked.once("job:{key}", per="1h"), body)("a") == "A"
    assert colour.of(clocked.once("job:{key}", per="1h"), str.upper)("a") == "A", "another window has begun"


@pytest.mark.parametrize(
    ("options", "last", "first"),
    [
        ({"per": "1d"}, "2026-03-28 23:59:59", "2026-03-29 00:00:00"),
        ({"per": "1d", "tz": "Europe/Berlin"}, "2026-03-29 21:59:59", "2026-03-29 22:00:00"),
        ({"per": "1d", "tz": timezone(timedelta(hours=2))}, "2026-03-28 21:59:59", "2026-03-28 22:00:00"),
        ({"per": "1w"}, "2026-03-29 23:59:59", "2026-03-30 00:00:00"),
        ({"per": "month"}, "2026-03-31 23:59:59", "2026-04-01 00:00:00"),
        ({"per": "month", "tz": "Europe/Berlin"}, "2026-03-31 21:59:59", "2026-03-31 22:00:00"),
    ],
)
def test_windows_of_a_place(clocked: Dibs, clock: Clock, options: dict[str, Any], last: str, first: str) -> None:
    daily = Blocking.of(clocked.once("job:{key}", **options), str.upper)
    clock.at("2026-03-28 23:30:00" if "Berlin" in str(options) else "2026-03-28 20:30:00")
    assert daily("a") == "A"
    clock.at(last)
    assert daily("a").why == "done"
    clock.at(first)
    assert daily("a") == "A"


def test_the_long_day_and_the_short_one_have_one_run_each(clocked: Dibs, clock: Clock) -> None:
    daily = Blocking.of(clocked.once("job:{key}", per="1d", tz="Europe/Berlin"), str.upper)
    for begins, hours in (("2026-03-28 23:00", 23), ("2026-10-24 22:00", 25)):
        clock.at(begins)
        runs = 0
        for _ in range(hours * 4):
            runs += daily("a") == "A"
            clock.now += 900
        assert runs == 1
        assert daily("a") == "A", "the next day has begun"


def test_since_the_last_success_counts_from_its_end(clocked: Dibs, clock: Clock, colour: Colour) -> None:
    warm = colour.of(clocked.once("warm:{key}", per="5m", since="success"), str.upper)
    clock.at("2026-03-04 05:04:59")
    assert warm("a") == "A"
    clock.at("2026-03-04 05:09:58")
    assert warm("a").why == "done"
    clock.at("2026-03-04 05:10:01")
    assert warm("a") == "A"


@pytest.mark.parametrize("ahead", [-86400.0, 86400.0])
def test_the_clock_of_a_client_does_not_matter(clocked: Dibs, colour: Colour, ahead: float, monkeypatch: Any) -> None:
    monkeypatch.setattr("time.time", lambda now=datetime.now(UTC).timestamp(): now + ahead)
    daily = colour.of(clocked.once("job:{key}", per="1h"), str.upper)
    assert daily("a") == "A"
    skipped = daily("a")
    assert (skipped.why, skipped.since) == ("done", Clock().now)


# --- results -------------------------------------------------------------------------------------------------------


def test_a_remembered_result_is_given_instead(d: Dibs, colour: Colour, diary: Diary) -> None:
    calls: list[str] = []

    def rates(key: str) -> dict[str, Any]:
        calls.append(key)
        return {"day": key, "rates": (1.5, None), 7: "ü\n"}

    daily = colour.of(d.once("rates:{key}", per="1d", remember=True), rates)
    assert daily("monday") == {"day": "monday", "rates": (1.5, None), 7: "ü\n"}
    assert daily("monday") == {"day": "monday", "rates": [1.5, None], "7": "ü\n"}
    assert calls == ["monday"]
    assert [told.why for told in diary.of(CallSkipped)] == ["done"]


def test_a_remembered_none_is_none(d: Dibs, colour: Colour) -> None:
    calls: list[str] = []
    daily = colour.of(d.once("rates:{key}", per="1d", remember=True), calls.append)
    assert (daily("monday"), daily("monday"), calls) == (None, None, ["monday"])


def test_who_did_not_ask_for_results_is_given_none(d: Dibs) -> None:
    assert Blocking.of(d.once("rates:{key}", per="1d", remember=True), str.upper)("a") == "A"
    assert Blocking.of(d.once("rates:{key}", per="1d"), str.upper)("a").why == "done"


def test_a_result_that_was_not_kept_cannot_be_given(d: Dibs) -> None:
    assert Blocking.of(d.once("rates:{key}", per="1d"), str.upper)("a") == "A"
    assert Blocking.of(d.once("rates:{key}", per="1d", remember=True), str.upper)("a").why == "done"


LOOP: list[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ({1, 2}, "JSON has no words for set"),
        (Path("a"), "JSON has no words for pathlib"),
        (LOOP, "JSON has no words for list: Circular"),
        ("x" * LONGEST_NOTE, "str of .* bytes is longer than 65536"),
    ],
    ids=["set", "path", "loop", "long"],
)
def test_a_result_that_cannot_be_remembered_is_given_and_the_window_is_done(
    d: Dibs, colour: Colour, diary: Diary, result: object, says: str
) -> None:
    daily = colour.of(d.once("rates:{key}", per="1d", remember=True), lambda _: result)
    assert daily("monday") is result
    assert daily("monday").why == "done"
    [told] = diary.of(Stumbled)
    assert told.doing.startswith("remembering the result of tests.client.others.")
    assert told.doing.endswith("for 'rates:monday'")
    assert re.search(says, told.error)


def test_a_result_up_to_the_limit_is_remembered(d: Dibs) -> None:
    text = "x" * (LONGEST_NOTE - 200)
    daily = Blocking.of(d.once("rates:{key}", per="1d", remember=True), lambda _: text)
    assert (daily("a"), daily("a")) == (text, text)


# --- many at once --------------------------------------------------------------------------------------------------


def test_of_many_threads_one_succeeds(d: Dibs) -> None:
    work = Work()
    work.fails = 3
    digest, together = Blocking.of(d.once("digest:{key}", per="1d", wait="20s"), work), threading.Barrier(16)

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
    work = Work()

    @d.once("digest:{key}", per="1d", wait="20s")
    async def digest(key: str) -> str:
        await asyncio.sleep(0)
        return work(key)

    async def main() -> list[str | Skipped]:
        return await asyncio.gather(*(digest("ann") for _ in range(30)))

    found = asyncio.run(main())
    assert work.done == ["ann"]
    assert found.count("ANN") == 1
    assert {value.why for value in found if isinstance(value, Skipped)} == {"done"}


# --- several processes ---------------------------------------------------------------------------------------------

WORKER = """
import sys, dibs
d = dibs.connect(sys.argv[1], quiet=True)

@d.once("digest:{key}", per="1d", wait="20s", ttl=sys.argv[2], remember=True)
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
        ({"per": "1d", "retries": 3}, "no such option here: retries"),
    ],
)
def test_what_makes_no_sense_is_told_where_it_is_said(d: Dibs, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        d.once("job", **options)


def test_what_no_call_could_fill_is_told_where_it_is_said(d: Dibs) -> None:
    once: Any = d.once
    with pytest.raises(ConfigError, match=r"\{user\} is no parameter: there are key"):
        Blocking.of(once("job:{user}", per="1d"), str.upper)
    with pytest.raises(ConfigError, match="names no lock"):
        once(str.upper, per="1d")
    with pytest.raises(ConfigError, match="is a generator"):
        once("job", per="1d")(lambda: (yield))
    once("report", per="1d")(str.upper)
    with pytest.warns(UserWarning, match="are both locked by 'report'"):
        once("report", per="1d")(str.lower)


def test_both_colours_know_of_one_another(d: Dibs) -> None:
    decorate = d.once("job:{key}", per="1d", remember=True)
    assert Blocking.of(decorate, str.upper)("a") == Async.of(decorate, str.lower)("a") == "A"
