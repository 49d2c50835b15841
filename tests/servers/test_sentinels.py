"""A house fails over when it is told to, whatever its members were doing; if it does not, it tells what they said."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import pytest

from tests.servers.fixtures import on_valkey_9
from tests.servers.patience import until
from tests.servers.sentinels import House

FAR_BEHIND = 2.2
"""A sentinel that has stood still for two seconds mistrusts its clock, and does nothing for thirty more."""


@on_valkey_9
def test_a_house_that_does_not_fail_over_tells_what_each_of_it_says(house: House) -> None:
    before = house.master
    house.sentinels[0].pause()
    with pytest.raises(AssertionError) as failed:
        house.next_master(before, within=0.1)
    told = str(failed.value)
    assert "Timeout" in told
    assert told.count("'num-slaves': 2") == 2
    assert all(f"<Server on port {server.port}" in told for server in house.servers)


@pytest.mark.thorough
@on_valkey_9
def test_sentinels_that_stood_still_fail_over_all_the_same(house: House) -> None:
    before, paused_at = house.master, monotonic()
    for sentinel in house.sentinels:
        sentinel.pause()
    until(lambda: monotonic() > paused_at + FAR_BEHIND)
    for sentinel in house.sentinels:
        sentinel.resume()
    assert house.fail_over() is not before


@pytest.mark.thorough
@on_valkey_9
def test_a_failover_that_is_given_up_is_begun_again(house: House) -> None:
    before, replicas = house.master, house.replicas
    for replica in replicas:
        replica.pause()
    with ThreadPoolExecutor(1) as hand:
        failing_over = hand.submit(house.fail_over)
        until(lambda: "-failover-abort" in house.sentinels[0].told())
        for replica in replicas:
            replica.resume()
        assert failing_over.result() is not before
