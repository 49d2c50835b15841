"""Which slot a lock is in, and how a cluster is named."""

from __future__ import annotations

import re

import pytest

import dibs
from dibs import ConfigError
from dibs.events import JoinedQueue
from dibs.stores.redis.cluster.keys import ClusterKeys
from dibs.stores.redis.cluster.place import place_of
from dibs.stores.redis.cluster.slots import SLOTS, slot_of, tags
from dibs.stores.redis.resp import bulks
from dibs.testing.contract.faces import Started
from tests.servers.cluster import Cluster
from tests.stores.redis.cluster.guild import Guild
from tests.stores.redis.faults.party import NAME

NAMES = ["a", "orders:{42}", "orders:{42}:7", "a{b", "zürich", "x" * 200, "{shop}"]


@pytest.mark.parametrize("name", NAMES)
def test_a_key_is_where_the_servers_say(shared_cluster: Cluster, name: str) -> None:
    key = f"dibs:{name}"
    assert slot_of(key.encode()) == shared_cluster.servers[0].ask("CLUSTER", "KEYSLOT", key)


def test_each_slot_has_a_tag_that_is_in_it() -> None:
    assert [slot_of(f"dibs:~fence{{{tag}}}".encode()) for tag in tags()] == list(range(SLOTS))


@pytest.mark.parametrize("name", NAMES)
def test_all_keys_of_a_lock_are_in_one_slot(name: str) -> None:
    keys = ClusterKeys("dibs")
    words = keys.of(name) + keys.memo_of(name)
    found = {slot_of(word) for word in words.split(b"\r\n") if word.startswith((b"dibs:", b"{dibs:"))}
    assert found == {keys.slot(name)}


def test_counter_and_index_of_each_slot_are_two_words_of_a_command() -> None:
    keys = ClusterKeys("50%")
    worded = [bulks(f"50%:~{side}{{{tag}}}".encode() for side in ("fence", "index")) for tag in tags()]
    assert [keys.shared_at(slot) for slot in range(SLOTS)] == worded


def test_a_url_names_some_of_its_servers() -> None:
    place = place_of("redis+cluster://app:s%2Fcret@one:1,two,[::1]:3?socket_keepalive=yes")
    assert place.seeds == [("one", 1), ("two", 6379), ("::1", 3)]
    assert place.shown == "redis+cluster://one:1,two:6379,::1:3"
    assert place.options == {"username": "app", "password": "s/cret", "socket_keepalive": True}
    assert "cret" not in repr(place)
    assert place_of("valkeys+cluster://one/").tls


@pytest.mark.parametrize(
    "url",
    [
        "redis+cluster://",
        "redis+cluster:///",
        "redis+cluster://one/1",
        "redis+cluster://one:x",
        "redis+cluster://one,,two",
        "redis+cluster://:hunter2@one?no_such_option=1",
        "redis+cluster://:hunter2@one?socket_timeout=x",
        "redis+cluster://:hunter2@one?min_replicas=x",
    ],
)
def test_what_names_no_cluster_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigError) as refused:
        dibs.connect(url)
    assert "hunter2" not in str(refused.value)


def test_a_slot_that_others_have_noted_is_not_noted_again(cluster: Cluster) -> None:
    names = [f"order-{number}" for number in range(50)]

    def lock_all_of_them() -> int:
        before = noted(cluster)
        with dibs.connect(cluster.url, quiet=True) as d:
            for name in names:
                with d.lock(name):
                    assert [lock.name for lock in d.locks(name)] == [name]
        return noted(cluster) - before

    assert lock_all_of_them() == len({slot_of(f"dibs:{name}".encode()) for name in names})
    assert lock_all_of_them() == 1, "before it has heard of the others"


def test_a_lock_that_goes_round_in_one_process_is_told_to_no_other_server(guild: Guild, cluster: Cluster) -> None:
    face = guild.join(cluster.url)

    async def scene() -> None:
        mine = await face.acquire(NAME)

        async def wait() -> None:
            await face.release(await face.acquire(NAME, wait=20))

        waiters = list[Started]()
        for number in range(3):
            waiters.append(face.start(wait()))
            await face.seen(JoinedQueue, times=number + 1)
        await face.release(mine)
        for waiter in waiters:
            await waiter.finish()

    before = published(cluster)
    face.play(scene())
    assert published(cluster) == before


def published(cluster: Cluster) -> int:
    """How often something was pushed, which all servers of a cluster get to hear of."""
    return _calls(cluster, "publish")


def noted(cluster: Cluster) -> int:
    """How often a server was told that there are locks in a slot."""
    return _calls(cluster, "sadd")


def _calls(cluster: Cluster, command: str) -> int:
    stats = [master.ask("INFO", "commandstats") for master in cluster.masters()]
    return sum(int(calls) for each in stats for calls in re.findall(rf"cmdstat_{command}:calls=(\d+)", each))
