"""The server's wall clock is set: holders learn of it at the next renewal, fences rise, and all goes on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dibs import LeaseLost
from dibs.events import JoinedQueue, Lost
from dibs.model.asks import Granted, Memo, Queued, Said
from dibs.model.sheet import MOST_FORGOTTEN, Change, Entry, Question, Sheet
from tests.chaos.losses import Loss
from tests.chaos.moments import IN_TIME, ends_within, so
from tests.servers.fixtures import on_valkey_9
from tests.servers.skew import NO_SHIM, Skewed
from tests.stores.redis.asker import PERMIT, READER, REENTRANT, Asker, Kind
from tests.stores.redis.faults.party import NAME, Party, renewed

TTL = 1.0
NEXT_RENEWAL = TTL / 3
STEP = 60

pytestmark = pytest.mark.skipif(bool(NO_SHIM), reason=NO_SHIM)


@on_valkey_9
def test_a_clock_set_forward_is_noticed_at_the_next_renewal(party: Party, skewed: Skewed) -> None:
    holder, waiter = party.join(skewed.server.url), party.join(skewed.server.url)

    async def scene() -> None:
        loss = Loss()
        lease = await party.enter(holder, ttl=TTL, on_lost=loss)
        skewed.set(STEP)
        with ends_within(NEXT_RENEWAL + IN_TIME):
            await holder.happened(so(lambda: lease.lost))
        assert "no longer knows it" in loss.reason(lease)
        with pytest.raises(LeaseLost):
            await holder.release(lease)
        for face in (waiter, holder):  # who knew the clock as it was gets the lock all the same
            await party.visit(face, ttl=TTL, wait=2)

    party.play(scene())
    party.leaves_nothing(skewed.server)


@on_valkey_9
def test_a_waiter_gets_in_when_a_clock_was_set_forward_and_two_believe_no_longer_than_to_a_renewal(
    party: Party, skewed: Skewed
) -> None:
    holder, waiter = party.join(skewed.server.url), party.join(skewed.server.url)

    async def scene() -> None:
        lease = await holder.acquire(NAME, ttl=TTL)
        party.witness.counts(lease)
        second = waiter.start(party.follow(waiter, ttl=TTL))
        await waiter.seen(JoinedQueue)
        skewed.set(STEP)
        with ends_within(TTL + IN_TIME):
            with ends_within(NEXT_RENEWAL + IN_TIME):
                await holder.happened(so(lambda: lease.lost))
            await second.finish()
        with pytest.raises(LeaseLost):
            await holder.release(lease)
        await party.visit(holder, ttl=TTL, wait=2)

    party.play(scene())
    party.leaves_nothing(skewed.server)


@pytest.mark.parametrize("ahead", [0, STEP], ids=["true-before", "ahead-before"])
@on_valkey_9
def test_a_clock_set_back_takes_no_lock_from_its_holder(party: Party, skewed: Skewed, ahead: int) -> None:
    skewed.set(ahead)
    holder, waiter = party.join(skewed.server.url), party.join(skewed.server.url)

    async def scene() -> None:
        lease = await party.enter(holder, ttl=TTL)
        second = waiter.start(party.visit(waiter, ttl=TTL))
        await waiter.seen(JoinedQueue)
        skewed.set(ahead - STEP)
        await holder.happened(renewed(lease))
        lease.ensure()
        await party.leave(holder, lease)
        with ends_within(TTL):
            await second.finish()
        await party.visit(holder, ttl=TTL, wait=2)
        assert not holder.diary.of(Lost)

    party.play(scene())
    party.leaves_nothing(skewed.server)


@pytest.fixture(params=["blocking", "asyncio"])
def asker(request: pytest.FixtureRequest, skewed: Skewed) -> Iterator[Asker]:
    made = Asker(skewed.server.url, request.param)
    yield made
    made.close()


@on_valkey_9
@pytest.mark.parametrize("kind", [REENTRANT, PERMIT, READER], ids=["a reentrant lock", "a permit", "a reader"])
class TestLocksThatMayBeShared:
    def test_a_clock_set_forward_ends_their_leases(self, asker: Asker, skewed: Skewed, kind: Kind) -> None:
        fence = asker.enter("ann", kind)
        skewed.set(STEP)
        assert asker.seen().state == "free"
        assert asker.renew("ann", fence) is Said.GONE
        assert asker.leave("ann") is Said.GONE
        later = asker.enter("bob", kind)
        assert later > fence
        skewed.set(0)
        assert asker.renew("bob", later) is Said.KEPT
        assert asker.leave("bob") is Said.RELEASED
        assert asker.enter("cid", kind) > later

    def test_a_clock_set_back_takes_none_from_its_holder(self, asker: Asker, skewed: Skewed, kind: Kind) -> None:
        fence = asker.enter("ann", kind)
        waits = isinstance(asker.acquire("bob", REENTRANT), Queued)
        assert waits
        skewed.set(-STEP)
        assert asker.renew("ann", fence) is Said.KEPT
        assert asker.renew("ann", fence, depth=2) is Said.KEPT
        assert 29 < asker.seen().holders[0].ttl_left <= 30
        assert asker.leave("ann", memo=Memo("done", asker.now() + 60)) is Said.RELEASED
        assert asker.recall().text == "done"
        handed = asker.keep_alive("bob")
        assert isinstance(handed, Granted)
        assert handed.fence > fence
        asker.leave("bob")
        assert set(skewed.server.ask("KEYS", "*")) == {"n:~fence", "{n:a}~memo"}

    def test_all_of_them_or_none_by_a_clock_set_back(self, asker: Asker, skewed: Skewed, kind: Kind) -> None:
        before = asker.enter("ann", kind)
        asker.leave("ann")
        skewed.set(-STEP)
        fences = asker.together(*((name, asker.wish("bob", kind)) for name in "abc"))
        assert fences == [before + 1, before + 2, before + 3]


@on_valkey_9
class TestSheets:
    def test_revisions_rise_by_a_clock_set_back_also_when_the_counter_is_lost(
        self, asker: Asker, skewed: Skewed
    ) -> None:
        first = asker.keep_sheet()
        skewed.set(-STEP)
        assert [asker.keep_sheet("b"), asker.keep_sheet("a")] == [first + 1, first + 2]
        skewed.server.ask("DEL", "n:~fence")
        assert asker.keep_sheet("a") == first + 3

    def test_a_clock_set_forward_makes_due_what_was_for_later_and_set_back_it_no_longer_is(
        self, asker: Asker, skewed: Skewed
    ) -> None:
        later = asker.now() + STEP / 2
        asker.keep_sheet(acts_at=later)
        assert asker.due().next_at == pytest.approx(later, abs=0.001)
        skewed.set(STEP)
        look = asker.due()
        assert ([sheet.name for sheet in look.sheets], look.next_at) == (["a"], None)
        assert look.now > later
        skewed.set(0)
        assert asker.due().sheets == []

    @pytest.mark.parametrize(("step", "made"), [(0, True), (STEP, False), (-STEP, False)])
    def test_a_change_is_made_in_its_time_by_the_clock_as_it_is_set(
        self, asker: Asker, skewed: Skewed, *, step: int, made: bool
    ) -> None:
        now = asker.now()
        skewed.set(step)
        [revision] = asker.ask(asker.locks.amend([Change("a", 0, "text", None, now, now + STEP / 2)]))
        assert bool(revision) is made

    def test_what_was_noted_is_kept_in_the_order_of_its_time_when_the_clock_is_set_back(
        self, asker: Asker, skewed: Skewed
    ) -> None:
        asker.keep_sheet(entries=[Entry(asker.now(), "first")])
        skewed.set(-STEP)
        asker.keep_sheet(entries=[Entry(asker.now(), "second")])
        assert asker.history() == ["first", "second"]

    def test_a_clock_set_far_forward_ends_a_history_and_no_sheet(self, asker: Asker, skewed: Skewed) -> None:
        revision = asker.keep_sheet(entries=[Entry(asker.now(), "noted", ("ok",))], keep_for=STEP / 2)
        skewed.set(STEP)
        asker.note("b", Entry(asker.now(), "another"))
        assert (asker.history(), asker.history("ok"), asker.history("b")) == ([], [], ["another"])
        assert asker.sheet() == Sheet("a", revision, "text")

    def test_all_histories_that_are_over_go_bit_by_bit_and_leave_nothing_behind(
        self, asker: Asker, skewed: Skewed
    ) -> None:
        for number in range(2 * MOST_FORGOTTEN):
            asker.note(f"{number:03}", Entry(asker.now(), "old", ("ok",)), keep_for=STEP / 2)
        skewed.set(STEP)
        left = []
        for _ in range(3):
            asker.note("new", Entry(asker.now(), "new"), keep=1)
            left.append(len(asker.ask(asker.locks.lines(Question("ok", limit=1_000)))))
        assert left == [MOST_FORGOTTEN, 0, 0]
        sides = "~entries", "~ends", "new~lines"
        assert set(skewed.server.ask("KEYS", "*")) == {"n:~fence", *(f"{{n:~fence}}{side}" for side in sides)}
        assert skewed.server.ask("HLEN", "{n:~fence}~entries") == skewed.server.ask("ZCARD", "{n:~fence}~ends") == 1
