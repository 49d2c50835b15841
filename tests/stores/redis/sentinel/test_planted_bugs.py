"""The tests of failover and of replicas notice what they are there for: each of these mistakes fails one of them."""

from __future__ import annotations

import pytest

from dibs.stores.redis.seconding import lines, seconder
from dibs.stores.redis.sentinel.endpoint import SentinelEndpoint
from dibs.stores.redis.sentinel.watch import Watch
from tests.servers.sentinels import House
from tests.stores.redis.sentinel.household import Household, by_isolation
from tests.stores.redis.sentinel.test_failover import (
    test_a_holder_keeps_its_lease_through_a_failover_and_those_who_wait_get_it_next as through_a_failover,
)
from tests.stores.redis.sentinel.test_min_replicas import (
    test_who_is_handed_a_lock_has_it_when_replicas_do as handed,
)
from tests.stores.redis.sentinel.test_min_replicas import (
    test_without_replicas_nothing_is_granted_and_nothing_is_left as without_replicas,
)

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("household", ["asyncio"], indirect=True)
def test_a_master_that_is_not_left_when_the_sentinels_name_another(
    household: Household, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SentinelEndpoint, "moved", lambda *_: None)
    with pytest.raises(AssertionError):
        through_a_failover(household, house, by_isolation)


@pytest.mark.parametrize("household", ["blocking"], indirect=True)
def test_the_first_word_of_the_sentinels_for_ever(
    household: Household, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Watch.told
    monkeypatch.setattr(Watch, "told", lambda watch, *word: watch._word or told(watch, *word))
    with pytest.raises(AssertionError):
        through_a_failover(household, house, by_isolation)


@pytest.mark.parametrize("household", ["blocking", "asyncio"], indirect=True)
def test_a_grant_that_is_believed_whatever_the_replicas_say(
    household: Household, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (lines, seconder):
        monkeypatch.setattr(place, "wait_for_replicas", lambda *_: None)
    with pytest.raises(pytest.fail.Exception):  # nothing was raised
        without_replicas(household, house)


@pytest.mark.parametrize("household", ["asyncio"], indirect=True)
def test_a_push_that_is_believed_before_the_replicas_have_it(
    household: Household, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines.WakingEar, "deliver", lambda ear, push, asked_at: ear._ear.deliver(push, asked_at))
    with pytest.raises(AssertionError):
        handed(household, house)
