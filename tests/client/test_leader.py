"""Leading by turns: who leads, when a term ends, and that the next one comes."""

from __future__ import annotations

import asyncio
import gc
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import aclosing, closing
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

import dibs
from dibs import ClientClosed, ConfigError, Dibs, LeaseLost, SelfDeadlock, Term
from dibs.config import Config
from dibs.events import Abandoned, Acquired, CampaignStalled, JoinedQueue, Lost, Released, Stumbled
from dibs.model.request import PATIENCE
from dibs.ports.wire import Backend
from dibs.runtime.clock import boottime
from dibs.stores.memory import MemoryBackend
from dibs.stores.sqlite import Location, SqliteBackend
from dibs.testing.contract import Diary
from dibs.testing.outage import Outage
from tests.chaos.stage import Stage
from tests.client.successions import Successions

BOTH = ["blocking", "asyncio"]
"""How long after its TTL a dead leader may be without a successor."""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="dibs-") as folder:
        yield Path(folder)
        for line in [thread for thread in threading.enumerate() if thread.name == "dibs-line"]:
            line.join(5)  # a last ask of a closed client may still be on its way


@pytest.fixture(params=["memory", "sqlite"])
def backend(request: pytest.FixtureRequest, folder: Path) -> Backend:
    return MemoryBackend() if request.param == "memory" else SqliteBackend(Location(folder / "locks.sqlite"))


@pytest.fixture
def outage(backend: Backend) -> Outage:
    return Outage(backend)


@pytest.fixture
def other(outage: Outage) -> Iterator[Dibs]:
    """A client of another process, as far as the store can tell."""
    with Dibs(outage) as client:
        yield client


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


def is_free(d: Dibs, name: str = "billing") -> None:
    d.lock(name, wait=10).acquire().release()


def play(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scene(), 30))


def evict(d: Dibs, term: Term) -> None:
    assert d.force_release(term.name, fence=term.fence, reason="for a test")


class TestTerms:
    def test_a_term_is_a_lease_on_the_lock_of_that_name(self, d: Dibs, diary: Diary) -> None:
        for term in d.leader("billing", ttl="15s", purpose="invoices").terms():
            held = d.inspect("billing").held
            assert held is not None
            assert (term.name, term.fence, held.purpose) == ("billing", held.fence, "invoices")
            assert (term.lost, term.ended) == (False, False)
            assert 12 < term.remaining <= 13.5
            assert term.waited < 5
            term.ensure()
            assert repr(term) == f"<Term 'billing' fence={term.fence} stands>"
            term.resign()
            assert (term.lost, term.ended, term.remaining) == (False, True, 0.0)
            assert repr(term) == f"<Term 'billing' fence={term.fence} ended>"
            with pytest.raises(LeaseLost, match="released by this program"):
                term.ensure()
            term.resign()
            break
        assert len(diary.of(Released)) == 1

    def test_the_same_object_serves_tasks(self, d: Dibs) -> None:
        async def main() -> None:
            async for term in d.leader("billing").terms():
                assert (await d.ainspect("billing")).state == "held"
                await term.aresign()
                await term.aresign()
                assert term.ended
                break
            assert (await d.ainspect("billing")).state == "free"

        play(main)

    def test_who_comes_back_for_the_next_term_has_resigned_and_stands_again(self, d: Dibs, diary: Diary) -> None:
        led: list[Term] = []
        for term in d.leader("billing").terms():
            assert all(before.ended for before in led)
            led.append(term)
            if len(led) == 3:
                break
        fences = [term.fence for term in led]
        assert fences == sorted(set(fences))
        assert not any(term.lost for term in led)
        is_free(d)
        assert diary.of(Abandoned) == []

    def test_tasks_stand_again_as_well(self, d: Dibs) -> None:
        async def main() -> None:
            led: list[Term] = []
            async for term in d.leader("billing").terms():
                led.append(term)
                if len(led) == 3:
                    break
            assert led[0].fence < led[1].fence < led[2].fence
            assert (led[0].ended, led[1].ended) == (True, True)

        play(main)

    def test_one_leads_at_a_time_among_threads(self, d: Dibs, other: Dibs) -> None:
        leading, fences, overlaps = list[int](), list[int](), list[list[int]]()

        def stand(client: Dibs) -> None:
            for turn, term in enumerate(client.leader("billing").terms(), 1):
                leading.append(term.fence)
                if len(leading) > 1:
                    overlaps.append(list(leading))
                fences.append(term.fence)
                term.ensure()
                leading.remove(term.fence)
                if turn == 5:
                    break

        threads = [threading.Thread(target=stand, args=(client,)) for client in (d, other) * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert overlaps == []
        assert len(fences) == 40
        assert fences == sorted(set(fences))

    def test_one_leads_at_a_time_among_tasks(self, d: Dibs, other: Dibs) -> None:
        async def main() -> None:
            leading, fences = list[int](), list[int]()

            async def stand(client: Dibs) -> None:
                turn = 0
                async for term in client.leader("billing").terms():
                    leading.append(term.fence)
                    await client.ainspect("billing")
                    assert leading == [term.fence]
                    fences.append(leading.pop())
                    turn += 1
                    if turn == 5:
                        break

            await asyncio.gather(*(stand(client) for client in (d, other) * 4))
            assert len(fences) == 40
            assert fences == sorted(set(fences))

        play(main)

    def test_a_resignation_hands_over_at_once(self, d: Dibs, other: Dibs, diary: Diary) -> None:
        led = SimpleQueue[Term]()
        first = next(other.leader("billing", ttl=60).terms())

        def stand() -> None:
            for term in d.leader("billing", ttl=60).terms():
                led.put(term)
                return

        thread = threading.Thread(target=stand)
        thread.start()
        diary.wait_for(JoinedQueue, 1)
        first.resign()
        assert led.get(timeout=10).fence > first.fence
        thread.join(10)

    def test_a_loss_ends_the_term_and_the_next_step_waits_again(
        self, d: Dibs, other: Dibs, diary: Diary, outage: Outage
    ) -> None:
        terms, watched = iter(d.leader("billing").terms()), Diary()
        first = next(terms)
        with Dibs(outage, observers=[watched]) as third:
            held = SimpleQueue[dibs.Lease]()
            thread = threading.Thread(target=lambda: held.put(third.lock("billing").acquire()))
            thread.start()
            watched.wait_for(JoinedQueue, 1)
            evict(other, first)
            diary.wait_for(Lost, 1)
            assert (first.lost, first.ended) == (True, True)
            with pytest.raises(LeaseLost, match="by force"):
                first.ensure()
            first.resign()
            lease = held.get(timeout=10)
            thread.join()

            def release_when_awaited() -> None:
                diary.wait_for(JoinedQueue, 1)
                lease.release()

            thread = threading.Thread(target=release_when_awaited)
            thread.start()
            second = next(terms)
            thread.join()
        assert first.fence < lease.fence < second.fence
        told = [type(event) for event in diary.events if isinstance(event, Acquired | JoinedQueue | Lost)]
        assert told == [Acquired, Lost, JoinedQueue, Acquired]

    def test_the_body_learns_of_a_loss_and_the_loop_does_not_raise_it(self, d: Dibs, diary: Diary) -> None:
        async def main() -> None:
            fences: list[int] = []
            async for term in d.leader("billing").terms():
                fences.append(term.fence)
                if len(fences) == 2:
                    break
                assert await d.aforce_release("billing", fence=term.fence)
                await asyncio.to_thread(diary.wait_for, Lost, 1)
                assert term.lost
            assert fences[0] < fences[1]

        play(main)

    def test_a_term_lasts_no_longer_than_its_max_hold(self, d: Dibs, diary: Diary) -> None:
        for term in d.leader("billing", ttl=0.3, max_hold=0.6).terms():
            [lost] = diary.wait_for(Lost, 1)
            assert (lost.fence, lost.reason) == (term.fence, "it reached its max_hold")
            break

    def test_waiting_for_what_one_leads_is_told(self, d: Dibs) -> None:
        for _term in d.leader("billing").terms():
            with pytest.raises(SelfDeadlock):
                d.lock("billing").acquire()
            with pytest.raises(SelfDeadlock):
                next(d.leader("billing").terms())
            break
        is_free(d)


class TestLeavingTheLoop:
    def test_break_return_and_errors_resign(self, d: Dibs, diary: Diary) -> None:
        leader, seen = d.leader("billing"), list[Term]()

        def returns() -> Term:
            for term in leader.terms():
                return term
            raise AssertionError

        def raises() -> None:
            for term in leader.terms():
                seen.append(term)
                raise KeyError("mine")

        def breaks() -> Term | None:
            last = None
            for term in leader.terms():
                last = term
                break
            return last

        broken = breaks()
        assert broken is not None
        assert broken.ended
        is_free(d)
        assert returns().ended
        is_free(d)
        with pytest.raises(KeyError) as raised:
            raises()
        assert seen[0].ended, raised
        is_free(d)
        assert (diary.of(Abandoned), diary.of(Lost)) == ([], [])

    def test_so_they_do_in_a_task(self, d: Dibs, diary: Diary) -> None:
        async def main() -> None:
            seen: list[Term] = []
            async for term in d.leader("billing").terms():
                seen.append(term)
                break
            assert seen.pop().ended
            await (await d.lock("billing", wait=10).aacquire()).arelease()

            async def work() -> None:
                async for term in d.leader("billing").terms():
                    seen.append(term)
                    inside.set()
                    await asyncio.Event().wait()

            inside = asyncio.Event()
            task = asyncio.create_task(work())
            await inside.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert seen[0].ended
            await (await d.lock("billing", wait=10).aacquire()).arelease()

        play(main)
        assert (diary.of(Abandoned), diary.of(Lost)) == ([], [])

    def test_a_silent_store_does_not_keep_one_in_the_loop(self, d: Dibs, outage: Outage) -> None:
        began, led = boottime(), list[Term]()
        for term in d.leader("billing").terms():
            led.append(term)
            outage.trouble = "asks lost"
            break
        assert boottime() - began < PATIENCE
        assert led[0].ended
        outage.trouble = "none"
        is_free(d)

    def test_what_a_later_loop_leads_is_not_ended_by_an_earlier_one(self, d: Dibs) -> None:
        terms = d.leader("billing").terms()
        first, second = iter(terms), iter(terms)
        next(first).resign()
        term = next(second)
        del first
        gc.collect()
        term.ensure()
        del second
        assert term.ended

    def test_a_block_of_its_own_resigns_at_its_end(self, d: Dibs) -> None:
        with d.leader("billing").terms() as terms:
            term = next(terms)
            term.ensure()
        assert d.inspect("billing").state == "free"
        assert list(terms) == []
        with closing(d.leader("billing").terms()) as terms:
            next(terms)
        assert d.inspect("billing").state == "free"
        with d.leader("billing").terms() as terms:
            led = [term for _, term in zip(range(1), terms, strict=False)]
            led[-1].ensure()  # the loop is left, but not the block
        assert led[-1].ended
        assert d.inspect("billing").state == "free"
        with d.leader("billing").terms():
            pass

    def test_an_async_block_of_its_own_resigns_at_its_end(self, d: Dibs) -> None:
        async def main() -> None:
            async with d.leader("billing").terms() as terms:
                (await anext(terms)).ensure()
            assert (await d.ainspect("billing")).state == "free"
            assert [term async for term in terms] == []
            async with aclosing(d.leader("billing").terms()) as terms:
                await anext(terms)
            assert (await d.ainspect("billing")).state == "free"
            async with d.leader("billing").terms():
                pass

        play(main)

    def test_a_term_that_nobody_loops_over_is_given_back_when_it_is_dropped(self, d: Dibs, diary: Diary) -> None:
        next(d.leader("billing", on_ended=lambda term, reason: None).terms())
        gc.collect()
        diary.wait_for(Abandoned, 1)
        is_free(d)

    @pytest.mark.parametrize("kind", BOTH)
    def test_terms_that_are_closed_while_they_stand_lead_no_more(
        self, d: Dibs, other: Dibs, diary: Diary, kind: str
    ) -> None:
        lease, terms = other.lock("billing").acquire(), d.leader("billing").terms()
        led = SimpleQueue[list[Term]]()

        async def main() -> None:
            led.put([term async for term in terms])

        stand = (lambda: asyncio.run(main())) if kind == "asyncio" else lambda: led.put(list(terms))
        thread = threading.Thread(target=stand)
        thread.start()
        diary.wait_for(JoinedQueue, 1)
        if kind == "asyncio":
            asyncio.run(terms.aclose())
        else:
            terms.close()
        lease.release()
        assert led.get(timeout=10) == []
        thread.join()
        is_free(other)


class TestCallbacks:
    def test_each_is_called_once_and_in_order(self, d: Dibs, diary: Diary) -> None:
        told: list[tuple[str, int, str]] = []
        leader = d.leader(
            "billing",
            on_elected=lambda term: told.append(("elected", term.fence, "")),
            on_ended=lambda term, reason: told.append(("ended", term.fence, reason)),
        )
        fences: list[int] = []
        for term in leader.terms():
            assert told[-1] == ("elected", term.fence, "")
            fences.append(term.fence)
            if len(fences) == 2:
                evict(d, term)
            elif len(fences) == 3:
                term.resign()
                term.resign()
            elif len(fences) == 4:
                break
        assert told[:7] == [
            ("elected", fences[0], ""),
            ("ended", fences[0], "it was resigned"),
            ("elected", fences[1], ""),
            ("ended", fences[1], "it was released by force"),
            ("elected", fences[2], ""),
            ("ended", fences[2], "it was resigned"),
            ("elected", fences[3], ""),
        ]

    def test_one_who_leaves_the_loop_is_told_of_the_end(self, d: Dibs) -> None:
        told, fences = SimpleQueue[tuple[int, str]](), list[int]()
        for term in d.leader("billing", on_ended=lambda term, reason: told.put((term.fence, reason))).terms():
            fences.append(term.fence)
            break
        assert told.get(timeout=10) == (fences[0], "it was resigned")

    def test_a_loss_is_told_while_the_body_is_at_work(self, d: Dibs) -> None:
        told, lost = SimpleQueue[str](), SimpleQueue[LeaseLost]()
        leader = d.leader("billing", on_ended=lambda _, reason: told.put(reason), on_lost=lost.put)
        for term in leader.terms():
            evict(d, term)
            assert told.get(timeout=10) == "it was released by force"
            assert lost.get(timeout=10).fence == term.fence
            break
        assert told.empty()

    @pytest.mark.parametrize("kind", BOTH)
    def test_nobody_stands_again_before_the_end_was_dealt_with(self, d: Dibs, diary: Diary, kind: str) -> None:
        begun, is_too_early = threading.Event(), list[bool]()
        leads_again, fences = threading.Event(), list[int]()

        def on_ended(term: Term, reason: str) -> None:
            begun.set()
            is_too_early.append(leads_again.wait(0.5))

        def led(term: Term) -> bool:
            fences.append(term.fence)
            if len(fences) == 1:
                evict(d, term)
                begun.wait(10)  # on a thread of its own, and at it for a while
                return False
            leads_again.set()
            return True

        async def main() -> None:
            async for term in leader.terms():
                if await asyncio.to_thread(led, term):
                    break

        leader = d.leader("billing", on_ended=on_ended)
        if kind == "asyncio":
            play(main)
        else:
            any(led(term) for term in leader.terms())
        assert len(fences) == 2
        assert is_too_early[0] is False

    def test_one_that_fails_does_not_break_the_election(self, d: Dibs, diary: Diary) -> None:
        def fail(*_: object) -> None:
            raise ValueError("mine")

        for turn, _term in enumerate(d.leader("billing", on_elected=fail, on_ended=fail).terms(), 1):
            if turn == 2:
                break
        first, second, third = (event.doing for event in diary.wait_for(Stumbled, 3)[:3])
        assert (first, third) == ("telling that a term of 'billing' begins",) * 2
        assert second == "telling that a term of 'billing' is over"
        assert "ValueError('mine')" in diary.of(Stumbled)[0].error

    @pytest.mark.parametrize("option", ["on_elected", "on_ended"])
    @pytest.mark.parametrize("callback", ["not callable", asyncio.sleep])
    def test_one_that_cannot_be_called_is_refused(self, d: Dibs, option: str, callback: Any) -> None:
        with pytest.raises(ConfigError, match=f"{option}="):
            d.leader("billing", **{option: callback})


class TestOutage:
    @pytest.fixture
    def d(self, outage: Outage, diary: Diary) -> Iterator[Dibs]:
        """One that does not bear a silence for long."""
        with Dibs(outage, observers=[diary], config=Config(patience=0.5)) as client:
            yield client

    @pytest.mark.parametrize("kind", BOTH)
    def test_a_candidate_waits_a_silence_out(self, d: Dibs, outage: Outage, diary: Diary, kind: str) -> None:
        outage.trouble = "refused"

        def heal() -> None:
            diary.wait_for(CampaignStalled, 1)
            outage.trouble = "none"

        async def main() -> None:
            async for term in d.leader("billing").terms():
                term.ensure()
                break

        healer = threading.Thread(target=heal)
        healer.start()
        if kind == "asyncio":
            play(main)
        else:
            for term in d.leader("billing").terms():
                term.ensure()
                break
        healer.join()
        [stalled] = diary.of(CampaignStalled)
        assert (stalled.name, stalled.why) == ("billing", "refused")

    def test_a_leader_whose_store_falls_silent_leads_again_when_it_is_back(
        self, d: Dibs, outage: Outage, diary: Diary
    ) -> None:
        fences: list[int] = []
        for term in d.leader("billing", ttl=0.5).terms():
            fences.append(term.fence)
            if len(fences) == 2:
                break
            outage.trouble = "asks lost"
            diary.wait_for(Lost, 1)
            assert term.ended

            def heal() -> None:
                diary.wait_for(CampaignStalled, 1)
                outage.trouble = "none"

            threading.Thread(target=heal).start()
        assert fences[0] < fences[1]

    def test_resigning_to_a_silent_store_is_owed(self, d: Dibs, outage: Outage) -> None:
        term = next(d.leader("billing").terms())
        outage.trouble = "refused"
        term.resign()
        assert term.ended
        outage.trouble = "none"
        is_free(d)

    def test_a_client_that_goes_on_without_its_store_does_not_lead_without_it(
        self, outage: Outage, diary: Diary
    ) -> None:
        with Dibs(outage, observers=[diary], config=Config(on_outage="open", patience=0.5)) as d:
            outage.trouble = "refused"
            led = SimpleQueue[Term]()
            thread = threading.Thread(target=lambda: led.put(next(d.leader("billing").terms())))
            thread.start()
            diary.wait_for(CampaignStalled, 1)
            assert led.empty()
            outage.trouble = "none"
            led.get(timeout=10).resign()
            thread.join()

    def test_a_client_that_takes_no_locks_leads_at_once(self, outage: Outage) -> None:
        with Dibs(outage, config=Config(enabled=False)) as d:
            outage.trouble = "refused"
            ended = SimpleQueue[str]()
            fences: list[int] = []
            for term in d.leader("billing", on_ended=lambda _, reason: ended.put(reason)).terms():
                fences.append(term.fence)
                if len(fences) == 2:
                    break
            assert fences[0] < fences[1]
            assert term.ended
            assert [ended.get(timeout=10) for _ in fences] == ["it was resigned"] * 2


class TestWrongUse:
    def test_two_threads_cannot_iterate_the_same_terms(self, d: Dibs, other: Dibs, diary: Diary) -> None:
        terms, refused = d.leader("billing").terms(), SimpleQueue[ConfigError]()

        def intrude() -> None:
            try:
                next(terms)
            except ConfigError as error:
                refused.put(error)

        def in_a_thread(act: Callable[[], object]) -> threading.Thread:
            thread = threading.Thread(target=act)
            thread.start()
            return thread

        term = next(terms)
        in_a_thread(intrude).join(10)
        assert "call terms() once for each" in str(refused.get_nowait())
        term.ensure()
        term.resign()
        lease = other.lock("billing").acquire()
        stander = in_a_thread(lambda: next(terms).resign())
        diary.wait_for(JoinedQueue, 1)
        intrude()
        assert "another thread or task" in str(refused.get_nowait())
        lease.release()
        stander.join(10)

    def test_another_thread_may_go_on_once_the_term_is_over(self, d: Dibs) -> None:
        terms = d.leader("billing").terms()
        next(terms).resign()
        led = SimpleQueue[Term]()
        thread = threading.Thread(target=lambda: led.put(next(terms)))
        thread.start()
        led.get(timeout=10).resign()
        thread.join()

    def test_a_candidate_waits_as_long_as_it_takes(self, d: Dibs) -> None:
        with pytest.raises(ConfigError, match=r"no such option of a leader: wait; there are max_hold, on_lost"):
            d.leader("billing", wait=5)  # type: ignore[call-arg]
        with pytest.raises(ConfigError, match="ttl"):
            d.leader("billing", ttl="never")
        with pytest.raises(ConfigError, match="names no lock"):
            d.leader("")

    def test_it_says_what_it_is(self, d: Dibs) -> None:
        leader = d.leader("billing", ttl=15)
        assert leader.name == "billing"
        assert repr(leader) == "<Leader 'billing' ttl=15s>"
        assert repr(leader.terms()) == "<Terms of 'billing'>"


class TestClosing:
    def test_a_closed_client_cannot_stand(self, d: Dibs) -> None:
        leader = d.leader("billing")
        d.close()
        with pytest.raises(ClientClosed):
            next(leader.terms())

    @pytest.mark.parametrize("kind", BOTH)
    def test_a_loop_ends_when_its_client_is_closed_while_it_stands(
        self, outage: Outage, other: Dibs, kind: str
    ) -> None:
        diary, led = Diary(), list[Term]()
        d = Dibs(outage, observers=[diary])
        lease = other.lock("billing").acquire()

        async def main() -> None:
            led.extend([term async for term in d.leader("billing").terms()])

        def stand() -> None:
            if kind == "asyncio":
                asyncio.run(main())
            else:
                led.extend(d.leader("billing").terms())
            ended.set()

        ended = threading.Event()
        thread = threading.Thread(target=stand)
        thread.start()
        diary.wait_for(JoinedQueue, 1)
        d.close()
        assert ended.wait(10)
        assert led == []
        assert other.inspect("billing").waiters == ()
        lease.release()
        thread.join()

    def test_a_loop_ends_after_the_term_in_which_its_client_was_closed(self, d: Dibs) -> None:
        reasons, turns = SimpleQueue[str](), 0
        for term in d.leader("billing", on_ended=lambda _, reason: reasons.put(reason)).terms():
            turns += 1
            d.close()
            assert term.lost
        assert turns == 1
        assert reasons.get(timeout=10) == "its client was closed"

    def test_a_loop_may_be_left_after_its_client_was_closed(self, d: Dibs) -> None:
        led: list[Term] = []
        for term in d.leader("billing").terms():
            led.append(term)
            d.close()
            break
        assert led[0].lost

    def test_a_task_that_is_cancelled_while_it_stands_leaves_the_queue(
        self, d: Dibs, other: Dibs, diary: Diary
    ) -> None:
        async def main() -> None:
            lease = await other.lock("billing").aacquire()
            task = asyncio.ensure_future(anext(d.leader("billing").terms()))
            await asyncio.to_thread(diary.wait_for, JoinedQueue, 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await other.ainspect("billing")).waiters == ()
            await lease.arelease()

        play(main)


class TestOnAFile(Successions):
    @pytest.fixture
    def url(self, folder: Path) -> str:
        return f"sqlite:///{folder / 'locks.sqlite'}"
