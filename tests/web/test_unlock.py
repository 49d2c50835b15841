"""The emergency unlock, by HTTP."""

from __future__ import annotations

import asyncio
import os

import pytest

from dibs import Dibs, LockView
from dibs.events import Evicted, Lost
from dibs.testing.contract import Diary
from dibs.web.admin import LONGEST_BODY
from tests.web.asking import ADDRESS, FREE, PATH, Caller, wherever


@wherever
def test_an_emergency_unlock_takes_the_lock_from_its_holder(d: Dibs, caller: Caller, diary: Diary) -> None:
    lease = d.lock("retry-scheduler", ttl=30).acquire()
    answer = caller.post(f"{PATH}/unlock", {"reason": "its pod is gone"})
    assert answer.status == 200
    assert answer.said.pop("message").endswith(f":{os.getpid()} (fence {lease.fence}): its pod is gone")
    assert answer.said == {"lockKey": "workflow:retry-scheduler", "released": True, "fence": lease.fence}
    assert diary.of(Evicted) == [Evicted("retry-scheduler", lease.fence, "its pod is gone")]
    [lost] = diary.wait_for(Lost, 1)
    assert (lost.name, lost.fence) == ("retry-scheduler", lease.fence)
    assert caller.get(PATH).said == FREE


def test_an_unlock_in_a_hurry_needs_no_body_and_is_told_all_the_same(d: Dibs, caller: Caller, diary: Diary) -> None:
    lease = d.lock("retry-scheduler").acquire()
    assert caller.post(f"{PATH}/unlock").status == 200
    assert diary.of(Evicted) == [Evicted("retry-scheduler", lease.fence, f"no reason given, by HTTP from {ADDRESS}")]


def test_a_free_lock_has_nothing_to_unlock(caller: Caller) -> None:
    for body in ({}, {"fence": 7}):
        answer = caller.post(f"{PATH}/unlock", body)
        assert answer.status == 404
        assert answer.said == {"error": "'workflow:retry-scheduler' is free: there is nothing to unlock"}


@wherever
def test_only_the_holder_that_was_seen_loses_the_lock(d: Dibs, caller: Caller, diary: Diary) -> None:
    with d.lock("retry-scheduler") as gone:
        pass
    lease = d.lock("retry-scheduler").acquire()
    for fence in (gone.fence, 0, 2**100):
        answer = caller.post(f"{PATH}/unlock", {"fence": fence})
        assert answer.status == 409
        assert f"no longer held with fence {fence}: look again" in answer.said["error"]
    assert caller.get(PATH).said["locked"] is True
    assert not diary.of(Evicted)
    assert caller.post(f"{PATH}/unlock", {"fence": lease.fence, "reason": "x"}).status == 200
    assert caller.get(PATH).said == FREE


@pytest.mark.parametrize(("stays_taken", "status"), [(True, 409), (False, 404)])
def test_a_lock_that_changes_hands_meanwhile_is_left_alone(
    d: Dibs, caller: Caller, monkeypatch: pytest.MonkeyPatch, stays_taken: bool, status: int
) -> None:
    look, leases = d.ainspect, [d.lock("retry-scheduler").acquire()]

    async def look_too_early(name: str) -> LockView:
        seen = await look(name)
        await leases.pop().arelease()
        if stays_taken:
            leases.append(await d.lock("retry-scheduler").aacquire())
        return seen

    monkeypatch.setattr(d, "ainspect", look_too_early)
    assert caller.post(f"{PATH}/unlock").status == status
    monkeypatch.undo()
    assert caller.get(PATH).said["locked"] is stays_taken


def test_of_several_holders_one_is_put_out(d: Dibs, caller: Caller) -> None:
    first, second = (d.semaphore("retry-scheduler", 3, ttl=ttl).acquire() for ttl in (30, 60))
    assert caller.get(PATH).said["remainingTime"] > 30_000
    answer = caller.post(f"{PATH}/unlock", {"fence": second.fence})
    assert answer.said["fence"] == second.fence
    assert answer.said["message"].endswith("; 1 more hold it")
    assert [held.fence for held in d.inspect("retry-scheduler").holders] == [first.fence]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"{", "the body is no JSON (Expecting property name"),
        (b"\xff\xfe", "the body is no JSON"),
        (b"[" * 9_000, "the body is no JSON"),
        (b'{"fence": ' + b"9" * 5_000 + b"}", "the body is no JSON"),
        (b"7", "the body is no JSON object"),
        (b"null", "the body is no JSON object"),
        (b" " * (LONGEST_BODY + 1), f"the body is longer than {LONGEST_BODY} bytes"),
        (b'{"fense": 7}', "the body says 'fense', and nobody knows that here"),
        (b'{"\\ud800": 7}', "the body says '\\ud800', and nobody knows that here"),
        (b'{"fence": null}', "fence=None: name the fence that you saw"),
        (b'{"fence": true}', "fence=True: name the fence that you saw"),
        (b'{"fence": "7"}', "fence='7': name the fence that you saw"),
        (b'{"fence": -1}', "fence=-1: name the fence that you saw"),
        (b'{"fence": NaN}', "fence=nan: name the fence that you saw"),
        (b'{"reason": 5}', "a reason is text, not int"),
        (b'{"reason": null}', "a reason is text, not NoneType"),
        (b'{"reason": "a\\nb"}', "a reason may hold no control or invisible characters"),
    ],
)
def test_a_body_that_makes_no_sense_opens_nothing(d: Dibs, caller: Caller, body: bytes, why: str) -> None:
    with d.lock("retry-scheduler"):
        answer = caller.post(f"{PATH}/unlock", body)
        assert answer.status == 400
        assert why in answer.said["error"]
        assert caller.get(PATH).said["locked"] is True


@pytest.mark.parametrize(
    "headers",
    [
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "none"},
        {"sec_fetch_site": "cross-site", "origin": "http://pod:3000"},
        {"origin": "http://evil.example"},
        {"origin": "http://pod:3001"},
        {"origin": "null"},
        {"origin": ""},
    ],
)
def test_a_page_of_another_site_cannot_unlock(d: Dibs, caller: Caller, headers: dict[str, str]) -> None:
    with d.lock("retry-scheduler"):
        answer = caller.post(f"{PATH}/unlock", **headers)
        assert answer.status == 403
        assert answer.said == {"error": "a page of another site asked for this, and may not"}
        assert caller.get(PATH).said["locked"] is True


@pytest.mark.parametrize(
    "headers",
    [
        {"sec_fetch_site": "same-origin", "origin": "https://behind.a.proxy"},
        {"origin": "http://Pod:3000"},
        {},
    ],
)
def test_a_page_of_this_site_and_a_program_can(d: Dibs, caller: Caller, headers: dict[str, str]) -> None:
    lease = d.lock("retry-scheduler").acquire()
    assert caller.post(f"{PATH}/unlock", **headers).said["fence"] == lease.fence


def test_a_look_opens_nothing(d: Dibs, caller: Caller) -> None:
    with d.lock("retry-scheduler") as lease:
        assert caller.get(f"{PATH}/unlock").said["lockKey"] == "workflow:retry-scheduler/unlock"
        assert caller.post(PATH).status == 405
        lease.ensure()


def test_many_ask_at_once_and_one_of_them_unlocks(d: Dibs, caller: Caller, diary: Diary) -> None:
    async def all_at_once() -> list[int]:
        answers = await asyncio.gather(*(caller.apost(f"{PATH}/unlock") for _ in range(20)))
        return sorted(answer.status for answer in answers)

    lease = d.lock("retry-scheduler").acquire()
    assert asyncio.run(all_at_once()) == [200] + [404] * 19
    assert [event.fence for event in diary.of(Evicted)] == [lease.fence]
