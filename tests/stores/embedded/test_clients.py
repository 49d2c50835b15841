"""Clients of an embedded server: what they have of it they give back, and no two of them are in at once for long."""

from __future__ import annotations

import asyncio
import gc
import shutil
from collections.abc import Iterator

import pytest

import dibs
from dibs.events import Lost
from dibs.stores.embedded.endpoint import EmbeddedEndpoint
from dibs.testing.contract.faces import Diary
from tests.stores.embedded.household import Household, all_end


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Nothing is found to be garbage while the test runs."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def take(client: dibs.Dibs) -> None:
    with client.lock("a"):
        pass


async def atake(client: dibs.Dibs) -> None:
    async with client.lock("a"):
        pass


@pytest.mark.usefixtures("uncollected")
def test_the_server_ends_when_its_last_client_is_closed(house: Household) -> None:
    one, two = (dibs.connect(house.place.url, quiet=True) for _ in range(2))
    take(one)
    take(two)
    everybody = house.members()
    one.close()
    take(two)
    assert house.members() == everybody
    two.close()
    all_end(everybody)


@pytest.mark.usefixtures("uncollected")
def test_the_server_ends_when_the_client_of_an_event_loop_is_closed(house: Household) -> None:
    async def scene() -> set[int]:
        async with dibs.connect(house.place.url, quiet=True) as client:
            await atake(client)
            return house.members()

    all_end(asyncio.run(scene()))


@pytest.mark.usefixtures("uncollected")
def test_a_client_that_outlives_its_event_loops_gives_back_what_they_had(house: Household) -> None:
    client = dibs.connect(house.place.url, quiet=True)
    asyncio.run(atake(client))
    asyncio.run(atake(client))
    everybody = house.members()
    client.close()
    all_end(everybody)


def test_a_line_that_was_hung_up_takes_no_other_share(house: Household) -> None:
    endpoint = EmbeddedEndpoint(house.place)
    endpoint.close()
    with pytest.raises(dibs.StoreUnreachable, match=r"hung up.*make another client"):
        endpoint.connect(1.0)
    assert not house.members()


def test_a_client_that_was_never_used_starts_no_server(house: Household) -> None:
    with dibs.connect(house.place.url, quiet=True):
        assert not house.members()


def test_whose_folder_is_deleted_learns_that_the_lock_is_not_its_own_any_more(house: Household) -> None:
    diary = Diary()
    with (
        dibs.connect(house.place.url, observers=[diary], quiet=True) as one,
        dibs.connect(house.place.url, quiet=True) as two,
    ):
        lost = one.lock("a", ttl=1).acquire()
        shutil.rmtree(house.folder)
        with two.lock("a", ttl=1) as lease:
            diary.wait_for(Lost, 1)
            assert lost.lost
            assert not lease.lost
            assert lease.fence > lost.fence
