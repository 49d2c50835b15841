"""How a service is named, who we are to its servers and to its sentinels, and what is said if that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import pytest

import dibs
from dibs import ConfigError, StoreUnreachable
from dibs.stores.redis.sentinel.service import service_of
from tests.chaos.moments import ends_within
from tests.servers.ports import HOST, Port
from tests.servers.sentinels import SERVICE, House
from tests.stores.redis.turns import SECRET


def test_a_url_names_sentinels_service_and_database() -> None:
    service = service_of("redis+sentinel://app:s%2Fcret@one:1,two,[::1]:3/house/4?socket_keepalive=yes")
    assert service.name == "house"
    assert service.sentinels == [("one", 1), ("two", 26379), ("::1", 3)]
    assert service.shown == "redis+sentinel://one:1,two:26379,::1:3/house/4"
    assert service.options == {"username": "app", "password": "s/cret", "db": 4, "socket_keepalive": True}
    assert service.to_sentinels == {"socket_keepalive": True}
    assert "cret" not in repr(service)


def test_who_we_are_to_the_sentinels_is_said_apart() -> None:
    service = service_of("valkeys+sentinel://:x@one/house?sentinel_username=w&sentinel_password=y&ssl_cert_reqs=none")
    assert service.tls
    assert service.options == {"password": "x", "ssl_cert_reqs": "none"}
    assert service.to_sentinels == {"username": "w", "password": "y", "ssl_cert_reqs": "none"}


@pytest.mark.parametrize(
    "url",
    [
        "redis+sentinel://",
        "redis+sentinel://one",
        "redis+sentinel://one/",
        "redis+sentinel:///house",
        "redis+sentinel://one/house/x",
        "redis+sentinel://one:x/house",
        "redis+sentinel://one,,two/house",
        "redis+sentinel://:hunter2@one/house?no_such_option=1",
        "redis+sentinel://:hunter2@one/house?sentinel_no_such_option=1",
        "redis+sentinel://:hunter2@one/house?socket_timeout=x",
    ],
)
def test_what_names_no_service_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigError) as refused:
        dibs.connect(url)
    assert "hunter2" not in str(refused.value)


@pytest.fixture
def guarded(start_house: Callable[..., House]) -> House:
    """Its sentinels want a password, which is not that of its servers."""
    lines = ("user default off", f"user us on >{SECRET} ~* &* +@all", "user peer on >peers ~* &* +@all")
    more = ("sentinel sentinel-user peer", "sentinel sentinel-pass peers")
    return start_house(sentinel_lines=(*lines, *more), login={"username": "us", "password": SECRET})


def test_sentinels_may_have_passwords_of_their_own(guarded: House) -> None:
    url = f"{guarded.url}?sentinel_username=us&sentinel_password={quote(SECRET, safe='')}"
    with dibs.connect(url, quiet=True) as d:
        with d.lock("a") as lease:
            assert lease.fence
        assert SECRET not in f"{d!r} {d.config!r} {d.guarantee}"
    wrong = f"{guarded.url}?sentinel_username=us&sentinel_password=wrong"
    with dibs.connect(wrong, quiet=True) as d, pytest.raises(StoreUnreachable, match="invalid") as refused:
        d.lock("a", wait=0).acquire()
    assert not refused.value.is_outage


def test_a_service_that_its_sentinels_do_not_know_is_told(shared_house: House) -> None:
    url = shared_house.url.replace(SERVICE, "home")
    with dibs.connect(url, quiet=True) as d, pytest.raises(StoreUnreachable) as refused:
        d.lock("a", wait=0).acquire()
    assert "watches no service called home" in refused.value.why
    assert "check the name" in refused.value.fix


def test_where_no_sentinel_answers_it_is_told_in_time() -> None:
    port = Port()
    url = f"redis+sentinel://{HOST}:{port.number},{HOST}:{port.number}/house"
    with dibs.connect(url, quiet=True) as d:
        with ends_within(1.25), pytest.raises(StoreUnreachable) as silent:
            d.lock("a", wait=1).acquire()
        assert silent.value.is_outage
    port.close()
