"""Events as log lines."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import get_args

import pytest

from dibs.events import (
    Abandoned,
    Acquired,
    Acted,
    Adopted,
    CallAdmitted,
    CalledUnlocked,
    CallSkipped,
    CampaignStalled,
    ChoseEmbedded,
    ClaimingPaused,
    ClosedWhileHolding,
    ConfigNotice,
    DefinitionOutdated,
    Event,
    Evicted,
    FoundBusy,
    HandedOn,
    HeldLong,
    JobUnbound,
    JoinedQueue,
    LetInAgain,
    LockingDisabled,
    Lost,
    NodeDown,
    PolicyOver,
    PolicyUsed,
    RefusedInARow,
    Released,
    ReleasedNothing,
    RunBegun,
    RunBuried,
    RunEnded,
    RunForsaken,
    RunLeftBehind,
    RunSlow,
    ScheduleChanged,
    ScheduleRetired,
    Serving,
    ServingEnded,
    SheetUnreadable,
    StoreBack,
    StoreRisky,
    StoreSilent,
    Stumbled,
    TickPassed,
    WouldHaveFailed,
    WouldHaveSkipped,
    WouldHaveWaited,
)
from dibs.model.tenure import NOT_RENEWED
from dibs.observe import logs
from dibs.observe.logs import LogReader
from tests.observe.worker_lines import WORKER_LINES

LINES: list[tuple[Event, int, str]] = [
    (Acquired("a", 7, 0.5), logging.DEBUG, "acquired 'a' (fence 7) after 500ms"),
    (JoinedQueue("a", "host:1", 2), logging.DEBUG, "waits for 'a', held by host:1, behind 2 others"),
    (Released("a", 7, 90.0), logging.DEBUG, "released 'a' (fence 7) after 1m30s"),
    (FoundBusy("a", "host:1", 5.0), logging.DEBUG, "'a' is held by host:1; gave up after 5s"),
    (
        RefusedInARow("a", 5, 1.8e9, "host:1"),
        logging.WARNING,
        "'a' was refused 5 times in a row here, since 2027-01-15 08:00:00 UTC; it is held by host:1: is it stuck?",
    ),
    (
        RefusedInARow("a", 5, 1.8e9, ""),
        logging.WARNING,
        "'a' was refused 5 times in a row here, since 2027-01-15 08:00:00 UTC: is it stuck?",
    ),
    (
        LetInAgain("a", 7, 1.8e9),
        logging.INFO,
        "'a' was had again, after 7 refusals in a row since 2027-01-15 08:00:00 UTC",
    ),
    (
        CallAdmitted("hourly-task", "tasks.hourly", 1),
        logging.INFO,
        "Lock acquired: hourly-task (attempt 1) for tasks.hourly",
    ),
    (
        CallSkipped("daily-cleanup", "tasks.cleanup", "busy", "host:1"),
        logging.INFO,
        "Skipping execution - lock held by another instance: daily-cleanup (host:1) for tasks.cleanup",
    ),
    (CallSkipped("a", "tasks.digest", "done"), logging.INFO, "Skipping execution - done: a for tasks.digest"),
    (
        CalledUnlocked("retry-scheduler", "tasks.retry"),
        logging.WARNING,
        (
            "called tasks.retry without the lock 'retry-scheduler', and so is all that is executed with a lock here: "
            "workflow.lock.enabled is false"
        ),
    ),
    (ReleasedNothing("a", "its lease was over"), logging.WARNING, "did not release 'a': its lease was over"),
    (
        Lost("a", 7, NOT_RENEWED),
        logging.INFO,
        "'a' (fence 7) ran out as planned: its TTL is over and it was not to be renewed",
    ),
    (Lost("a", 7, "it was released by force"), logging.ERROR, "lost 'a' (fence 7): it was released by force"),
    (
        HeldLong("a", 7, 400.0, 30.0),
        logging.WARNING,
        "'a' (fence 7) has been held for 6m40s at a TTL of 30s: is it stuck?",
    ),
    (Evicted("a", 7, "stuck"), logging.WARNING, "'a' (fence 7) was released by force: stuck"),
    (Evicted("a", 7, ""), logging.WARNING, "'a' (fence 7) was released by force: no reason given"),
    (
        Abandoned("a", 7),
        logging.WARNING,
        "'a' (fence 7) was never released: its lease was dropped, and is given back now",
    ),
    (HandedOn("a", 7, 90.0), logging.DEBUG, "handed 'a' (fence 7) on after 1m30s"),
    (Adopted("a", 7), logging.DEBUG, "adopted 'a' (fence 7)"),
    (
        CampaignStalled("a", "redis://db:6379", "no answer"),
        logging.WARNING,
        "cannot stand for 'a', no word from redis://db:6379: no answer; goes on asking",
    ),
    (
        ClosedWhileHolding(("a", "b")),
        logging.WARNING,
        "closed while holding 'a', 'b': free when their TTL is over",
    ),
    (
        ConfigNotice(("file a.yml, key b is ignored", "file a.yml, key c is ignored")),
        logging.WARNING,
        "in the configuration: file a.yml, key b is ignored; file a.yml, key c is ignored",
    ),
    (
        ChoseEmbedded("sqlite:////var/dibs.sqlite"),
        logging.WARNING,
        (
            "no store was named: using sqlite:////var/dibs.sqlite, which only programs of this user on this machine "
            "share; to lock across machines set DIBS_URL (or DIBS_REQUIRE_SHARED=1, to be refused instead)"
        ),
    ),
    (
        StoreRisky("redis://db:6379", ("it is full: empty it", "it is old: use a newer one")),
        logging.WARNING,
        "redis://db:6379 may lose locks: it is full: empty it; it is old: use a newer one",
    ),
    (StoreSilent("memory://", "no answer"), logging.WARNING, "no word from memory://: no answer"),
    (StoreBack(2.5), logging.INFO, "the store answers again, after 2.5s"),
    (
        PolicyUsed("a", "open", "no answer"),
        logging.WARNING,
        "'a' goes on without a lock, as on_outage='open' says: no answer",
    ),
    (
        PolicyUsed("a", "local", "no answer"),
        logging.WARNING,
        "'a' is locked for this machine only, as on_outage='local' says: no answer",
    ),
    (PolicyUsed("a", "skip", "no answer"), logging.WARNING, "'a' is skipped, as on_outage='skip' says: no answer"),
    (
        PolicyOver("redis://db:6379", 90.0, 3),
        logging.WARNING,
        "locks come from redis://db:6379 again, after 1m30s and 3 times without it",
    ),
    (
        LockingDisabled("redis://db:6379"),
        logging.WARNING,
        "locking is off (enabled=False): locks exclude nobody, and redis://db:6379 is not asked",
    ),
    (WouldHaveWaited("a", "host:1", 2), logging.INFO, "shadow: 'a' would have waited for host:1, behind 2 others"),
    (WouldHaveSkipped("a", "host:1"), logging.INFO, "shadow: 'a' would have been refused, as host:1 has it"),
    (WouldHaveFailed("a", "no answer"), logging.WARNING, "shadow: 'a' would have failed: no answer"),
    (Serving("host:1:a0b1", ("nightly", "poll")), logging.INFO, "serves 'nightly', 'poll' as host:1:a0b1"),
    (
        Serving("host:1:a0b1", tuple("abcdefghijkl")),
        logging.INFO,
        "serves 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j' and 2 more as host:1:a0b1",
    ),
    (
        JobUnbound("close", "shop.Shop.close (shop.py:7)"),
        logging.WARNING,
        ("nobody runs the job 'close': shop.Shop.close (shop.py:7) is a method, and d.bind(...) has named no instance"),
    ),
    (ServingEnded("host:1:a0b1", 0), logging.INFO, "serves no more as host:1:a0b1"),
    (
        ServingEnded("host:1:a0b1", 2),
        logging.INFO,
        "serves no more as host:1:a0b1; 2 runs had not ended, and were handed back or given up",
    ),
    (
        RunBegun("nightly", 1.8e9, 1, 7, 0.25),
        logging.DEBUG,
        "begins 'nightly' for 2027-01-15 08:00:00 UTC (fence 7), 250ms after its time",
    ),
    (
        RunEnded("nightly", 1.8e9, 1, "ok", "", 90.0, is_last=True),
        logging.INFO,
        "'nightly' for 2027-01-15 08:00:00 UTC ended after 1m30s: ok",
    ),
    (
        RunEnded("nightly", 1.8e9, 2, "failed", "KeyError: 7", 90.0, is_last=False),
        logging.WARNING,
        "'nightly' for 2027-01-15 08:00:00 UTC, attempt 2 ended after 1m30s: failed (KeyError: 7); it is tried again",
    ),
    (
        RunEnded("nightly", 1.8e9, 3, "timeout", "it took longer than 1m", 90.0, is_last=True),
        logging.ERROR,
        "'nightly' for 2027-01-15 08:00:00 UTC, attempt 3 ended after 1m30s: timeout (it took longer than 1m)",
    ),
    (
        RunSlow("nightly", 1.8e9, 1, 400.0, 300.0),
        logging.WARNING,
        "'nightly' for 2027-01-15 08:00:00 UTC has run for 6m40s, and 5m were expected: is it stuck?",
    ),
    (
        RunForsaken("nightly", 1.8e9, 1, "it could not be renewed in time"),
        logging.ERROR,
        "'nightly' for 2027-01-15 08:00:00 UTC does not count any more: it could not be renewed in time",
    ),
    (
        RunLeftBehind("nightly", 1.8e9, 1, 400.0),
        logging.ERROR,
        (
            "'nightly' for 2027-01-15 08:00:00 UTC is left behind after 6m40s: "
            "it does not count any more, and does not stop"
        ),
    ),
    (
        RunBuried("nightly", 1.8e9, 1, "host:2:c2d3", is_last=False),
        logging.WARNING,
        "'nightly' for 2027-01-15 08:00:00 UTC was not renewed by host:2:c2d3: it is begun once more",
    ),
    (
        RunBuried("nightly", 1.8e9, 1, "host:2:c2d3", is_last=True),
        logging.WARNING,
        "'nightly' for 2027-01-15 08:00:00 UTC was not renewed by host:2:c2d3: it is lost",
    ),
    (
        TickPassed("nightly", 1.8e9, "missed", "nobody was there for it"),
        logging.WARNING,
        "'nightly' was not run for 2027-01-15 08:00:00 UTC: missed (nobody was there for it)",
    ),
    (
        ClaimingPaused("redis://a", "its clock has jumped back by 7s", 10.0),
        logging.WARNING,
        "claims no runs from redis://a for 10s: its clock has jumped back by 7s",
    ),
    (
        ScheduleChanged("report", "every 30s", "web:7:ab"),
        logging.WARNING,
        "the schedule of 'report' is 'every 30s' from now on, as the code of web:7:ab says",
    ),
    (
        DefinitionOutdated("report", "every 60s", "every 30s"),
        logging.WARNING,
        "the code here says 'every 60s' of 'report', but 'every 30s' holds: it was deployed or said later",
    ),
    (ScheduleRetired("report"), logging.WARNING, "'report' is run no more: no live node's code defines it"),
    (Acted("report", "paused", "eve", "it is Friday"), logging.INFO, "eve: paused 'report' (it is Friday)"),
    (Acted("", "frozen", "eve", ""), logging.INFO, "eve: frozen the whole fleet"),
    (
        SheetUnreadable("report", "it is of format 2"),
        logging.WARNING,
        "leaves 'report' alone, as it cannot be read here: it is of format 2; upgrade dibs here, or mend it",
    ),
    (NodeDown("web:7:ab", 31.5), logging.WARNING, "web:7:ab is down: it was not heard of for 31.5s"),
    (Stumbled("keeping leases", "OSError()"), logging.ERROR, "failed while keeping leases: OSError()"),
    *WORKER_LINES,
]


class Pages(logging.Handler):
    """Keeps the records it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def pages() -> Pages:
    return Pages()


@pytest.fixture
def logger(pages: Pages) -> Iterator[logging.Logger]:
    logger = logging.getLogger("dibs.a_test_of_lines")
    logger.setLevel(logging.DEBUG)
    logger.addHandler(pages)
    yield logger
    logger.removeHandler(pages)


@pytest.mark.parametrize(("event", "level", "line"), LINES, ids=lambda part: type(part).__name__)
def test_each_event_is_one_readable_line_at_its_level(
    logger: logging.Logger, pages: Pages, event: Event, level: int, line: str
) -> None:
    LogReader(logger).on(event)
    [record] = pages.records
    assert (record.levelno, record.getMessage()) == (level, line)
    assert "\n" not in line


def test_no_event_is_left_out() -> None:
    assert {type(event) for event, _, _ in LINES} == set(get_args(Event))


def test_a_record_carries_the_event_itself(logger: logging.Logger, pages: Pages) -> None:
    event = Acquired("a", 7, 0.5)
    LogReader(logger).on(event)
    assert vars(pages.records[0])["event"] is event


def test_a_percent_sign_in_a_name_is_only_a_percent_sign(logger: logging.Logger, pages: Pages) -> None:
    LogReader(logger).on(Abandoned("100%s", 7))
    assert pages.records[0].getMessage().startswith("'100%s' (fence 7) was never released")


def test_nothing_is_formatted_for_a_level_that_is_off(
    logger: logging.Logger, pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in_words: list[Event] = []

    def sentence(event: Event) -> str:
        put_in_words.append(event)
        return "said"

    monkeypatch.setattr(logs, "sentence", sentence)
    logger.setLevel(logging.INFO)
    LogReader(logger).on(Acquired("a", 7, 0.5))
    assert (put_in_words, pages.records) == ([], [])
    LogReader(logger).on(StoreBack(1.0))
    assert put_in_words == [StoreBack(1.0)]


def test_lines_go_to_the_dibs_logger_unless_another_is_given(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "dibs"):
        LogReader().on(StoreBack(1.0))
    assert caplog.record_tuples == [("dibs", logging.INFO, "the store answers again, after 1s")]
