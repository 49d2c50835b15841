"""A lease as text: what it says, what is refused, and how another process goes on with it."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from urllib.parse import quote
from zlib import crc32

import pytest

import dibs
from dibs import ConfigError, Dibs, LeaseLost, StoreUnreachable
from dibs.events import Abandoned, Adopted, HandedOn, Lost, Released
from dibs.model.baton import Baton
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import Diary
from dibs.testing.outage import Outage
from dibs.token import VERSION, read, written
from tests.chaos.stage import Stage
from tests.client import candidates
from tests.servers.fixtures import on_valkey_9

BATON = Baton("dibs", "a", "0123456789abcdef", 1_700_000_000_000_000, 30.0, 1.5)


@pytest.fixture
def there(outage: Outage) -> Iterator[Dibs]:
    """A client of another process, as far as the store can tell."""
    with Dibs(outage) as client:
        yield client


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


@pytest.fixture
def file_url() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="dibs-") as folder:
        yield f"sqlite:///{Path(folder, 'locks.sqlite')}"


def resealed(payload: str, version: int = VERSION) -> str:
    """A token with a sum that is right, whatever it says."""
    text = f"dibs{version}.{payload}"
    return f"{text}.{crc32(text.encode()):08x}"


class TestText:
    @pytest.mark.parametrize(
        "baton",
        [
            BATON,
            replace(BATON, renew=False, max_hold=60.0, at_least=5.0, bar_until=1_700_000_000.25),
            replace(BATON, namespace="", name="größer/{ä}?&=:"),
        ],
    )
    def test_what_is_read_is_what_was_written(self, baton: Baton) -> None:
        assert read(written(baton), baton.namespace) == baton

    def test_it_goes_into_a_url_as_it_is(self) -> None:
        token = written(replace(BATON, name="a~b/ü?" * 8))
        assert quote(token, safe="") == token

    def test_it_says_nothing_of_the_store(self) -> None:
        with dibs.connect("memory://secret-place", quiet=True) as d:
            token = d.lock("a").acquire().to_token()
        assert set(vars_of(token)) == set(Baton.__dataclass_fields__)
        assert "secret-place" not in str(vars_of(token))

    @pytest.mark.parametrize("position", [0, 3, 4, 6, 40, -9, -1])
    def test_a_changed_character_is_noticed(self, position: int) -> None:
        token = written(BATON)
        other = "1" if token[position] != "1" else "2"
        changed = token[:position] + other + token[position:][1:]
        with pytest.raises(ConfigError, match="token") as refused:
            read(changed, "dibs")
        assert changed not in str(refused.value)

    @pytest.mark.parametrize("cut", [1, 8, 9, 50])
    def test_a_token_that_is_not_whole_is_noticed(self, cut: int) -> None:
        for part in (written(BATON)[:-cut], written(BATON)[cut:]):
            with pytest.raises(ConfigError, match=r"no token|damaged"):
                read(part, "dibs")

    @pytest.mark.parametrize(
        "wrong", ["", "nonsense", " " + written(BATON), written(BATON) + "\n", "dibs0.e30.00000000"]
    )
    def test_what_is_no_token_is_refused(self, wrong: str) -> None:
        with pytest.raises(ConfigError, match=r"that is no token of a lease: take all of what lease\.to_token"):
            read(wrong, "dibs")

    @pytest.mark.parametrize("wrong", [None, 7, b"dibs1.e30.00000000"])
    def test_what_is_no_text_is_refused(self, wrong: Any) -> None:
        with pytest.raises(ConfigError, match=f"text, not {type(wrong).__name__}"):
            read(wrong, "dibs")

    def test_a_token_of_a_newer_dibs_is_refused(self) -> None:
        with pytest.raises(ConfigError, match=r"of version 2, and this dibs reads 1: upgrade it"):
            read(resealed("e30", version=2), "dibs")

    def test_a_token_of_another_namespace_is_refused(self) -> None:
        with pytest.raises(ConfigError, match=r"namespace 'dibs', and this client's is 'shop'.*namespace='dibs'"):
            read(written(BATON), "shop")

    @pytest.mark.parametrize(
        "wrong",
        [
            {"namespace": "a:b"},
            {"namespace": 7},
            {"name": ""},
            {"name": None},
            {"name": "a~line"},
            {"owner": ""},
            {"owner": "x" * 201},
            {"owner": ["x"]},
            {"fence": 0},
            {"fence": True},
            {"fence": 1.0},
            {"fence": 2**63},
            {"ttl": 0.01},
            {"ttl": 30},
            {"ttl": 1e9},
            {"ttl": float("nan")},
            {"ttl": None},
            {"held_for": -1.0},
            {"held_for": float("inf")},
            {"renew": 1},
            {"max_hold": 1.5},
            {"max_hold": "60"},
            {"at_least": -1.0},
            {"at_least": None},
            {"bar_until": "soon"},
            {"bar_until": -1.0},
        ],
        ids=str,
    )
    def test_facts_that_make_no_sense_are_refused(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ConfigError, match="not one that dibs has made"):
            read(written(replace(BATON, **wrong)), "dibs")

    @pytest.mark.parametrize(
        "payload", ["e30", "W10", "bnVsbA", "bm9uc2Vuc2U", "_w", "A", "W1tbW1tbW1tbW1tbW1tb" * 10_000], ids=lambda _: ""
    )
    def test_what_was_sealed_by_somebody_else_is_refused(self, payload: str) -> None:
        with pytest.raises(ConfigError, match="not one that dibs has made"):
            read(resealed(payload), "dibs")

    def test_there_is_one_spelling_of_a_token(self) -> None:
        from base64 import urlsafe_b64decode, urlsafe_b64encode  # noqa: PLC0415

        payload = written(BATON).split(".")[1]
        spaced = urlsafe_b64decode(payload + "=" * (-len(payload) % 4)).replace(b",", b", ")
        with pytest.raises(ConfigError, match="not one that dibs has made"):
            read(resealed(urlsafe_b64encode(spaced).rstrip(b"=").decode()), "dibs")


def vars_of(token: str) -> dict[str, object]:
    baton = read(token, "dibs")
    return {name: getattr(baton, name) for name in Baton.__dataclass_fields__}


class TestHandingOn:
    def test_the_lease_is_over_here_but_neither_lost_nor_released(self, d: Dibs, diary: Diary) -> None:
        told: list[LeaseLost] = []
        lease = d.lock("a", on_lost=told.append).acquire()
        lease.to_token()
        assert (lease.lost, lease.remaining) == (False, 0.0)
        assert repr(lease) == f"<Lease 'a' fence={lease.fence} handed on>"
        with pytest.raises(LeaseLost, match="it was handed on"):
            lease.ensure()
        with pytest.raises(LeaseLost, match="it was handed on"):
            lease.extend()
        with pytest.raises(LeaseLost, match="it was handed on"):
            lease.to_token()
        lease.release()
        assert d.inspect("a").state == "held"
        assert (told, diary.of(Lost), diary.of(Released)) == ([], [], [])
        assert [event.name for event in diary.of(HandedOn)] == ["a"]

    def test_leaving_its_block_neither_releases_it_nor_raises(self, d: Dibs, there: Dibs, diary: Diary) -> None:
        with d.lock("a") as lease:
            token = lease.to_token()
        assert d.inspect("a").state == "held"
        there.adopt(token).release()
        with d.lock("a", wait=10):
            pass
        assert diary.of(Abandoned) == []

    def test_leaving_its_async_block_neither_releases_it_nor_raises(self, d: Dibs, there: Dibs) -> None:
        async def main() -> None:
            async with d.lock("a") as lease:
                token = lease.to_token()
            assert (await d.ainspect("a")).state == "held"
            await (await there.aadopt(token)).arelease()
            assert (await d.ainspect("a")).state == "free"

        asyncio.run(main())

    def test_its_thread_may_wait_for_the_lock_in_the_same_block(self, d: Dibs, there: Dibs) -> None:
        with d.lock("a") as lease:
            there.adopt(lease.to_token()).release()
            with d.lock("a", wait=10) as again:
                assert again.fence > lease.fence

    def test_the_error_of_the_body_is_left_alone(self, d: Dibs) -> None:
        with pytest.raises(KeyError) as raised, d.lock("a") as lease:
            lease.to_token()
            raise KeyError("mine")
        assert not hasattr(raised.value, "__notes__")

    def test_a_lease_that_is_over_cannot_be_handed_on(self, d: Dibs) -> None:
        released, lost = d.lock("a").acquire(), d.lock("b").acquire()
        released.release()
        d.force_release("b", fence=lost.fence)
        with pytest.raises(LeaseLost, match="released by this program"):
            released.to_token()
        with pytest.raises(LeaseLost, match="by force"):
            lost.to_token()

    def test_a_lease_that_nobody_adopts_is_free_when_its_ttl_is_over(self, d: Dibs, diary: Diary) -> None:
        d.lock("a", ttl=0.3).acquire().to_token()
        d.lock("a", wait=10).acquire().release()
        assert (diary.of(Abandoned), diary.of(Lost)) == ([], [])

    def test_what_others_share_cannot_be_handed_on_yet(self, d: Dibs, monkeypatch: pytest.MonkeyPatch) -> None:
        lease = d.lock("a").acquire()
        monkeypatch.setattr("dibs.token.is_plain", lambda _: False)
        with pytest.raises(ConfigError, match=r"'a' cannot be handed on: only that of a plain lock can"):
            lease.to_token()
        lease.ensure()
        lease.release()


class TestAdopting:
    def test_it_is_renewed_fenced_and_released_like_any_other(self, d: Dibs, there: Dibs) -> None:
        first = d.lock("a", ttl=0.4).acquire()
        lease = there.adopt(first.to_token())
        assert (lease.name, lease.fence, lease.ttl, lease.waited) == ("a", first.fence, 0.4, 0.0)
        with pytest.raises(dibs.LockBusy):
            d.lock("a", wait=1.2).acquire()
        lease.ensure()
        lease.extend()
        lease.release()
        assert d.inspect("a").state == "free"

    def test_tasks_adopt_as_threads_do(self, d: Dibs, there: Dibs) -> None:
        async def main() -> None:
            first = await d.lock("a", ttl=0.4).aacquire()
            lease = await there.aadopt(first.to_token())
            with pytest.raises(dibs.LockBusy):
                await d.lock("a", wait=1.2).aacquire()
            await lease.aextend()
            await lease.arelease()
            assert (await d.ainspect("a")).state == "free"

        asyncio.run(main())

    def test_whoever_comes_too_late_is_told(self, d: Dibs, there: Dibs) -> None:
        token = d.lock("a", ttl=0.3).acquire().to_token()
        d.lock("a", wait=10).acquire().release()
        with pytest.raises(LeaseLost, match="no longer knows it"):
            there.adopt(token)

        async def main() -> None:
            with pytest.raises(LeaseLost, match="no longer knows it"):
                await there.aadopt(token)

        asyncio.run(main())

    def test_one_client_adopts_it_once(self, d: Dibs, there: Dibs, diary: Diary) -> None:
        token = there.lock("a").acquire().to_token()
        lease = d.adopt(token)
        with pytest.raises(ConfigError, match="adopted by this client already: a token is for one"):
            d.adopt(token)
        lease.ensure()
        lease.release()
        assert len(diary.of(Adopted)) == 1

    def test_it_can_be_handed_on_again(self, d: Dibs, there: Dibs) -> None:
        first = d.lock("a", max_hold=60).acquire()
        lease = d.adopt(there.adopt(first.to_token()).to_token())
        assert lease.fence == first.fence
        assert lease.remaining > 0
        lease.release()

    def test_its_loss_is_told(self, d: Dibs, there: Dibs) -> None:
        told = SimpleQueue[LeaseLost]()
        lease = there.adopt(d.lock("a", ttl=0.6).acquire().to_token(), on_lost=told.put)
        d.force_release("a", fence=lease.fence)
        assert told.get(timeout=10).fence == lease.fence, "at the next renewal at the latest"
        assert lease.lost

    def test_a_silent_store_is_told_and_the_token_is_still_good(self, d: Dibs, there: Dibs, outage: Outage) -> None:
        token = d.lock("a").acquire().to_token()
        outage.trouble = "refused"
        with pytest.raises(StoreUnreachable):
            there.adopt(token)
        outage.trouble = "none"
        there.adopt(token).release()

    @pytest.mark.parametrize("callback", ["not callable", asyncio.sleep])
    def test_a_callback_that_cannot_be_called_is_refused(self, d: Dibs, callback: Any) -> None:
        token = d.lock("a").acquire().to_token()
        with pytest.raises(ConfigError, match="on_lost="):
            d.adopt(token, on_lost=callback)
        d.adopt(token).release()

    def test_of_another_store_it_is_unknown(self, d: Dibs) -> None:
        token = d.lock("a").acquire().to_token()
        with Dibs(MemoryBackend()) as elsewhere, pytest.raises(LeaseLost):
            elsewhere.adopt(token)

    def test_of_many_threads_one_adopts_it(self, d: Dibs, there: Dibs) -> None:
        token, ready = d.lock("a").acquire().to_token(), threading.Barrier(8)
        outcomes = SimpleQueue[dibs.Lease | ConfigError]()

        def adopt() -> None:
            ready.wait(10)
            try:
                outcomes.put(there.adopt(token))
            except ConfigError as refused:
                outcomes.put(refused)

        threads = [threading.Thread(target=adopt) for _ in range(8)]
        for thread in threads:
            thread.start()
        heard = [outcomes.get(timeout=10) for _ in threads]
        [lease] = [outcome for outcome in heard if isinstance(outcome, dibs.Lease)]
        lease.release()


def relayed(stage: Stage, url: str, kind: str) -> None:
    """One program takes the lock and ends; another goes on, long after the first TTL would have been over."""
    taker, late = stage.start(candidates.adopt, kind, url), stage.start(candidates.adopt, kind, url)
    taker.hear("ready")
    giver = stage.start(candidates.hand_on, url, "a", 1.0)
    [token, fence] = giver.hear("token")
    giver.hear("out")
    taker.tell(token)
    assert taker.hear("adopted") == [fence, "a"]
    giver.ends()
    with dibs.connect(url, quiet=True) as d:
        with pytest.raises(dibs.LockBusy) as busy:
            d.lock("a", wait=2).acquire()
        assert busy.value.fence == fence
        waiting = threading.Thread(target=lambda: taker.tell("release"))
        waiting.start()
        lease = d.lock("a", wait=10).acquire()
        assert lease.fence > fence
        lease.release()
        waiting.join()
    taker.ends()
    late.hear("ready")
    late.tell(token)
    assert late.hear("lost") == [fence]


@pytest.mark.parametrize("kind", ["blocking", pytest.param("asyncio", marks=pytest.mark.thorough)])
def test_another_process_goes_on_with_it_on_one_machine(stage: Stage, file_url: str, kind: str) -> None:
    relayed(stage, file_url, kind)


@on_valkey_9
@pytest.mark.parametrize("kind", ["asyncio", pytest.param("blocking", marks=pytest.mark.thorough)])
def test_another_process_goes_on_with_it_on_a_server(stage: Stage, server_url: str, kind: str) -> None:
    relayed(stage, server_url, kind)
