"""What `on_outage` says is what happens: on a store that can be made silent at will, and on servers that really are."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs import ConfigError, Dibs, Lease, LockBusy, NoFence, SelfDeadlock, StoreUnreachable
from dibs.config import Config
from dibs.errors import StoreRefused
from dibs.events import Acquired, PolicyOver, PolicyUsed, Released
from dibs.flows.outage import Outage as Met
from dibs.runtime.clock import boottime
from dibs.stores import EMBEDDED
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import Diary
from dibs.testing.outage import Outage, Trouble
from tests.client.visits import Visit, by_thread, in_both_colours, policy

WAIT = 0.2
TROUBLES: list[Trouble] = ["refused", "asks lost", "answers lost"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """This machine's own store, of which each test has one."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return EMBEDDED


@pytest.fixture
def ask_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """An outage is not taken for granted: each call asks anew."""
    monkeypatch.setattr("dibs.flows.outage.ASK_EVERY", 0.0)


class TestUnreachable:
    """While the store is silent."""

    @in_both_colours
    @pytest.mark.parametrize("trouble", TROUBLES)
    def test_closed_raises(self, d: Dibs, outage: Outage, visit: Visit, trouble: Trouble) -> None:
        outage.trouble = trouble
        with pytest.raises(StoreUnreachable) as unknown:
            visit(d, "a", policy, wait=WAIT, on_outage="closed")
        assert unknown.value.is_outage

    @in_both_colours
    @pytest.mark.parametrize("trouble", TROUBLES)
    def test_open_goes_on_without_a_lock(
        self, d: Dibs, outage: Outage, diary: Diary, visit: Visit, trouble: Trouble
    ) -> None:
        outage.trouble = trouble
        assert visit(d, "a", policy, wait=WAIT, on_outage="open") == "open"
        [used] = diary.of(PolicyUsed)
        assert (used.name, used.policy) == ("a", "open")
        assert not diary.of(Acquired), "nothing was acquired"

    @in_both_colours
    @pytest.mark.parametrize("trouble", TROUBLES)
    def test_local_takes_the_lock_of_this_machine(
        self, d: Dibs, outage: Outage, diary: Diary, visit: Visit, trouble: Trouble, here: str
    ) -> None:
        outage.trouble = trouble

        def held_here(lease: Lease) -> bool:
            assert lease.policy == "local"
            with dibs.connect(here, quiet=True) as other:
                return other.inspect("a").state == "held"

        assert visit(d, "a", held_here, wait=WAIT, on_outage="local")
        assert [used.policy for used in diary.of(PolicyUsed)] == ["local"]
        with dibs.connect(here, quiet=True) as other:
            assert other.inspect("a").state == "free"

    @in_both_colours
    def test_local_excludes_others_on_this_machine(self, outage: Outage, visit: Visit) -> None:
        outage.trouble = "refused"
        config = Config(on_outage="local")
        with Dibs(outage, config=config) as mine, Dibs(outage, config=config) as theirs:
            with mine.lock("a", wait=WAIT) as lease:
                assert lease.policy == "local"
                with pytest.raises(LockBusy):
                    visit(theirs, "a", policy, wait=WAIT)
            assert visit(theirs, "a", policy, wait=WAIT) == "local"

    def test_a_tried_lock_may_be_done_without_too(self, d: Dibs, outage: Outage) -> None:
        outage.trouble = "refused"
        with d.try_lock("a", on_outage="open") as lease:
            assert lease is not None
            assert lease.policy == "open"

    def test_what_the_client_was_told_holds_where_a_lock_says_nothing(self, outage: Outage) -> None:
        outage.trouble = "refused"
        with Dibs(outage, config=Config(on_outage="open")) as d:
            assert by_thread(d, "a", policy, wait=WAIT) == "open"
            with pytest.raises(StoreUnreachable):
                by_thread(d, "a", policy, wait=WAIT, on_outage="closed")

    def test_a_client_that_skips_has_locks_that_raise(self, outage: Outage) -> None:
        outage.trouble = "refused"
        with Dibs(outage, config=Config(on_outage="skip")) as d, pytest.raises(StoreUnreachable):
            by_thread(d, "a", policy, wait=WAIT)

    def test_a_lock_of_which_nobody_knows_is_given_back(self, d: Dibs, outage: Outage) -> None:
        outage.trouble = "answers lost"  # so the store has granted it
        assert by_thread(d, "a", policy, wait=WAIT, on_outage="open") == "open"
        outage.trouble = "none"
        d.lock("a", wait=10).acquire().release()


class TestTheLease:
    """What one has in hand that does not come from the store."""

    @pytest.fixture(autouse=True)
    def silent(self, outage: Outage) -> None:
        outage.trouble = "refused"

    @in_both_colours
    @pytest.mark.parametrize("on_outage", ["open", "local"])
    def test_it_has_no_fence_and_says_why(self, d: Dibs, visit: Visit, on_outage: str) -> None:
        def look(lease: Lease) -> NoFence:
            with pytest.raises(NoFence) as none:
                lease.fence  # noqa: B018
            assert f"without a fence by on_outage={on_outage!r}" in repr(lease)
            return none.value

        error = visit(d, "a", look, wait=WAIT, on_outage=on_outage)
        assert error.name == "a"
        assert f"by on_outage={on_outage!r}" in str(error)
        assert "outrank" in str(error)

    @in_both_colours
    @pytest.mark.parametrize("on_outage", ["open", "local"])
    def test_it_is_held_until_it_is_let_go(self, d: Dibs, visit: Visit, on_outage: str) -> None:
        def look(lease: Lease) -> Lease:
            lease.ensure()
            assert not lease.lost
            assert lease.remaining > 0
            assert lease.ttl == 5
            return lease

        lease = visit(d, "a", look, wait=WAIT, ttl=5, on_outage=on_outage)
        assert not lease.lost
        assert lease.remaining == 0
        with pytest.raises(dibs.LeaseLost, match="released by this program"):
            lease.ensure()
        lease.release()

    @pytest.mark.parametrize("on_outage", ["open", "local"])
    def test_it_can_be_extended(self, d: Dibs, on_outage: str) -> None:
        async def by_task() -> None:
            lease = await d.lock("b", **options).aacquire()
            await lease.aextend()
            await lease.arelease()

        options: dict[str, Any] = {"wait": WAIT, "on_outage": on_outage}
        lease = d.lock("a", **options).acquire()
        lease.extend()
        lease.release()
        asyncio.run(by_task())

    def test_without_a_lock_there_is_nothing_to_lose(self, d: Dibs) -> None:
        with d.lock("a", wait=WAIT, ttl=0.1, max_hold=0.1, renew=False, on_outage="open") as lease:
            until = boottime() + 0.2
            while boottime() < until:
                lease.ensure()
            assert not lease.lost

    @pytest.mark.parametrize("on_outage", ["open", "local"])
    def test_it_cannot_be_handed_on(self, d: Dibs, on_outage: Any) -> None:
        with (
            d.lock("a", wait=WAIT, on_outage=on_outage) as lease,
            pytest.raises(ConfigError, match="cannot be handed on"),
        ):
            lease.to_token()

    def test_waiting_for_oneself_is_told_at_once(self, d: Dibs) -> None:
        with d.lock("a", wait=WAIT, on_outage="local"), pytest.raises(SelfDeadlock):
            d.lock("a", on_outage="local").acquire()

    @pytest.mark.usefixtures("ask_always")
    def test_without_a_lock_nobody_waits_for_oneself(self, d: Dibs, outage: Outage) -> None:
        with d.lock("a", wait=WAIT, on_outage="open"):
            assert by_thread(d, "a", policy, wait=WAIT, on_outage="open") == "open"
            outage.trouble = "none"
            assert by_thread(d, "a", policy, on_outage="open") is None


class TestTheTimeItTakes:
    """One call finds out; the others do not wait for the same answer again."""

    @in_both_colours
    @pytest.mark.parametrize("on_outage", ["open", "local"])
    def test_a_known_outage_costs_no_wait(self, d: Dibs, outage: Outage, visit: Visit, on_outage: str) -> None:
        outage.trouble = "asks lost"
        visit(d, "a", policy, wait=WAIT, on_outage=on_outage)
        began_at = boottime()
        for _ in range(10):
            assert visit(d, "a", policy, on_outage=on_outage) == on_outage
        assert boottime() - began_at < 1

    def test_closed_always_asks(self, d: Dibs, outage: Outage) -> None:
        outage.trouble = "refused"
        assert by_thread(d, "a", policy, wait=WAIT, on_outage="open") == "open"
        outage.trouble = "none"
        assert by_thread(d, "a", policy, wait=WAIT) is None

    def test_the_first_call_finds_out_in_its_own_time(self, d: Dibs, outage: Outage) -> None:
        outage.trouble = "asks lost"
        began_at = boottime()
        assert by_thread(d, "a", policy, on_outage="open") == "open"
        assert 1.9 <= boottime() - began_at <= 2.5

    def test_what_is_left_of_the_wait_is_for_the_local_lock(self, outage: Outage) -> None:
        outage.trouble = "refused"
        config = Config(on_outage="local")
        with Dibs(outage, config=config) as mine, Dibs(outage, config=config) as theirs, mine.lock("a", wait=WAIT):
            for wait in (0.3, 0.3):  # the first asks the store all the time, and the second not at all
                began_at = boottime()
                with pytest.raises(LockBusy):
                    theirs.lock("a", wait=wait).acquire()
                assert 0.29 <= boottime() - began_at <= wait + 0.25

    def test_one_in_five_seconds_asks_for_all(self) -> None:
        met, trouble = Met(), StoreUnreachable("memory://", after=2.0)
        assert met.standing(100.0) is None
        met.begin(trouble, 102.0)
        assert met.since == 100.0
        assert met.standing(102.1) is trouble
        assert met.standing(106.9) is trouble
        assert met.standing(107.0) is None, "its turn to ask"
        assert met.standing(107.1) is trouble, "while it asks"
        met.begin(trouble, 109.0)
        assert met.since == 100.0
        assert met.standing(113.9) is trouble
        assert met.standing(114.0) is None


@pytest.mark.usefixtures("ask_always")
class TestRecovery:
    """The store is back."""

    @in_both_colours
    @pytest.mark.parametrize("on_outage", ["open", "local"])
    def test_locks_come_from_the_store_again_and_it_is_told_once(
        self, d: Dibs, outage: Outage, diary: Diary, visit: Visit, on_outage: str
    ) -> None:
        outage.trouble = "refused"
        for _ in range(3):
            assert visit(d, "a", policy, wait=WAIT, on_outage=on_outage) == on_outage
        outage.trouble = "none"
        for _ in range(2):
            assert visit(d, "a", policy, wait=10, on_outage=on_outage) is None
        [over] = diary.of(PolicyOver)
        assert (over.server, over.uses) == ("memory://", 3)
        assert over.after >= 2 * WAIT
        assert len(diary.of(PolicyUsed)) == 3

    def test_that_somebody_else_has_the_lock_is_an_answer_too(self, d: Dibs, outage: Outage, diary: Diary) -> None:
        assert by_thread(d, "a", policy, on_outage="open") is None
        theirs = d.lock("a").acquire()
        outage.trouble = "refused"
        assert by_thread(d, "a", policy, wait=WAIT, on_outage="open") == "open"
        outage.trouble = "none"
        with pytest.raises(LockBusy):
            by_thread(d, "a", policy, wait=WAIT, on_outage="open")
        assert len(diary.of(PolicyOver)) == 1
        theirs.release()

    def test_no_outage_has_no_end(self, d: Dibs, diary: Diary) -> None:
        assert by_thread(d, "a", policy, on_outage="open") is None
        assert not diary.of(PolicyOver)
        assert len(diary.of(Released)) == 1


class TestRefused:
    """A store that answers, and says no, is not done without."""

    @in_both_colours
    @pytest.mark.parametrize("on_outage", ["closed", "open", "local"])
    def test_no_policy_goes_on(self, d: Dibs, outage: Outage, diary: Diary, visit: Visit, on_outage: str) -> None:
        outage.trouble = "says no"
        with pytest.raises(StoreRefused) as no:
            visit(d, "a", policy, wait=WAIT, on_outage=on_outage)
        assert not no.value.is_outage
        assert not diary.of(PolicyUsed)


class TestWrongUse:
    """What is said wrongly is told where it is said."""

    def test_a_block_cannot_be_skipped(self, d: Dibs) -> None:
        skip: Any = "skip"
        for use in (d.lock, d.try_lock):
            with pytest.raises(ConfigError, match="on_outage='skip': a block cannot be skipped"):
                use("a", on_outage=skip)

    def test_an_unknown_policy_is_named(self, d: Dibs) -> None:
        with pytest.raises(ConfigError, match="on_outage='ajar': say 'closed', 'open' or 'local'"):
            d.lock("a", on_outage="ajar")  # type: ignore[arg-type]

    def test_a_local_store_that_cannot_be_is_told_before_the_outage(self, outage: Outage) -> None:
        nowhere = "sqlite:////nowhere/at/all/dibs.sqlite"
        with Dibs(outage, config=Config(local_url=nowhere)) as d:
            d.lock("a", on_outage="open")
            with pytest.raises(ConfigError, match=r"local_url \(argument\): no embedded store at /nowhere/at/all"):
                d.lock("a", on_outage="local")
        with pytest.raises(ConfigError, match="no embedded store"):
            Dibs(outage, config=Config(on_outage="local", local_url=nowhere))

    def test_a_store_that_is_local_already_has_no_other_to_fall_back_to(self, here: str) -> None:
        with dibs.connect(here, on_outage="local", quiet=True) as d:
            assert d._engine.detours.usual is None
            assert by_thread(d, "a", policy) is None

    def test_closing_closes_the_local_store_too(self, outage: Outage) -> None:
        outage.trouble = "refused"
        d = Dibs(outage, config=Config(on_outage="local"))
        lease = d.lock("a", wait=WAIT).acquire()
        d.close()
        assert lease.lost


def test_a_client_that_is_told_nothing_takes_no_detour() -> None:
    with Dibs(MemoryBackend()) as d:
        assert d._engine.detours.usual is None
        assert d.lock("a")._detour is None


@in_both_colours
@pytest.mark.parametrize("on_outage", ["open", "local"])
def test_a_no_is_not_forgotten_over_a_last_ask_that_was_not_answered(
    d: Dibs, outage: Outage, visit: Visit, on_outage: str
) -> None:
    outage.trouble = "says no"

    def fall_silent() -> None:
        outage.wait_for_asks(2)
        outage.trouble = "asks lost"

    silencer = threading.Thread(target=fall_silent)
    silencer.start()
    with pytest.raises(StoreRefused, match="it says no"):
        visit(d, "a", policy, wait=1, on_outage=on_outage)
    silencer.join()
