"""Which store is meant, of all the ways in which an environment and a file can name one."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
import redis.connection

import dibs
from dibs import ConfigError
from dibs.config.urls import Login, with_login
from dibs.events import ChoseEmbedded
from dibs.testing.contract import Diary
from tests.config.conftest import Settled
from tests.servers.server import Server

KUBERNETES = "tcp://10.0.0.1:6390"


@pytest.mark.parametrize(
    ("environment", "url", "source"),
    [
        ({"DIBS_URL": "memory://a"}, "memory://a", "environment DIBS_URL"),
        ({"REDIS_URL": "redis://a"}, "redis://a", "environment REDIS_URL"),
        ({"REDIS_HOST": "a"}, "redis://a:6379/0", "environment REDIS_HOST"),
        ({"REDIS_PORT": "7000"}, "redis://localhost:7000/0", "environment REDIS_PORT"),
        ({"REDIS_PASSWORD": "p"}, "redis://:p@localhost:6379/0", "environment REDIS_PASSWORD"),
        ({"REDIS_ENABLED": "true"}, "redis://localhost:6379/0", "environment REDIS_ENABLED"),
        ({"REDISSON_ENABLED": "true"}, "redis://localhost:6379/0", "environment REDISSON_ENABLED"),
        (
            {"REDIS_HOST": "a", "REDIS_PORT": "7000", "REDIS_USERNAME": "u", "REDIS_PASSWORD": "p", "REDIS_DB": "3"},
            "redis://u:p@a:7000/3",
            "environment REDIS_HOST, REDIS_PORT, REDIS_USERNAME, REDIS_PASSWORD, REDIS_DB",
        ),
        ({"REDIS_HOST": "fd00::1"}, "redis://[fd00::1]:6379/0", "environment REDIS_HOST"),
        ({"REDIS_HOST": "[::1]"}, "redis://[::1]:6379/0", "environment REDIS_HOST"),
        ({"REDIS_URL": " redis://a\n"}, "redis://a", "environment REDIS_URL"),
        ({"REDIS_DB": "3", "REDIS_USERNAME": "u"}, "sqlite://", "default"),
    ],
)
def test_an_environment_names_a_store(settled: Settled, environment: Mapping[str, str], url: str, source: str) -> None:
    config = settled(environment)
    assert (config.url, config.source("url")) == (url, source)


@pytest.mark.parametrize(
    ("environment", "url", "source"),
    [
        (
            {"DIBS_URL": "redis://a", "REDIS_URL": "redis://b", "REDIS_HOST": "c"},
            "redis://a",
            "environment DIBS_URL (over REDIS_URL, REDIS_HOST)",
        ),
        ({"REDIS_URL": "redis://b", "REDIS_HOST": "c"}, "redis://b", "environment REDIS_URL (over REDIS_HOST)"),
        ({"REDIS_ENABLED": "true", "REDIS_URL": "redis://b"}, "redis://b", "environment REDIS_URL"),
        (
            {"REDIS_ENABLED": "false", "DIBS_URL": "redis://a", "REDIS_PORT": "1"},
            "sqlite://",
            "environment REDIS_ENABLED (over DIBS_URL, REDIS_PORT)",
        ),
        ({"REDISSON_ENABLED": "0", "REDIS_HOST": "a"}, "sqlite://", "environment REDISSON_ENABLED (over REDIS_HOST)"),
        ({"REDIS_ENABLED": "false"}, "sqlite://", "environment REDIS_ENABLED"),
        ({"REDIS_ENABLED": "false", "DIBS_URL": "memory://a"}, "memory://a", "environment DIBS_URL"),
    ],
)
def test_of_several_names_the_first_in_order_counts_and_the_others_are_told(
    settled: Settled, environment: Mapping[str, str], url: str, source: str
) -> None:
    config = settled(environment)
    assert (config.url, config.source("url")) == (url, source)


def test_an_argument_names_a_store_whatever_else_is_said(settled: Settled) -> None:
    config = settled({"REDIS_ENABLED": "false", "DIBS_URL": "redis://a"}, url="redis://mine")
    assert (config.url, config.source("url")) == ("redis://mine", "argument")


@pytest.mark.parametrize(
    ("environment", "toml", "url"),
    [
        ({"REDIS_PORT": KUBERNETES}, "", "redis://10.0.0.1:6390/0"),
        ({"REDIS_PORT": "tcp://[fd00::1]:6390"}, "", "redis://[fd00::1]:6390/0"),
        ({"REDIS_PORT": KUBERNETES, "REDIS_HOST": "cache"}, "", "redis://cache:6390/0"),
        ({"REDIS_PORT": KUBERNETES, "REDIS_PASSWORD": "p"}, "", "redis://:p@10.0.0.1:6390/0"),
        ({"REDIS_PORT": KUBERNETES}, 'url = "redis://a"', "redis://a"),
        ({"REDIS_PORT": KUBERNETES}, 'redis.host = "a"', "redis://a:6379/0"),
        ({"REDIS_PORT": KUBERNETES}, "redis.port = 7000", "redis://localhost:7000/0"),
        ({"REDIS_PORT": KUBERNETES}, "redis.enabled = false", "sqlite://"),
        ({"REDIS_PORT": KUBERNETES, "REDIS_ENABLED": "false"}, "", "sqlite://"),
        ({"REDIS_PORT": KUBERNETES, "DIBS_URL": "redis://a"}, "", "redis://a"),
    ],
)
def test_what_kubernetes_injects_names_a_store_where_nobody_else_does(
    settled: Settled, environment: Mapping[str, str], toml: str, url: str
) -> None:
    assert settled(environment, toml=toml).url == url


def test_the_source_of_what_kubernetes_injects_is_told(settled: Settled) -> None:
    assert settled({"REDIS_PORT": KUBERNETES}).source("url") == "environment REDIS_PORT"
    both = settled({"REDIS_PORT": KUBERNETES, "REDIS_HOST": "cache"})
    assert both.source("url") == "environment REDIS_HOST, REDIS_PORT"


@pytest.mark.parametrize(
    ("environment", "toml", "url", "source"),
    [
        ({}, 'redis.host = "a"', "redis://a:6379/0", "file dibs.toml, key redis.host"),
        ({}, "redis.enabled = true", "redis://localhost:6379/0", "file dibs.toml, key redis.enabled"),
        ({}, 'redis.host = "a"\nurl = "redis://b"', "redis://b", "file dibs.toml, key url"),
        (
            {},
            'redis.host = "a"\nredis.enabled = false',
            "sqlite://",
            "file dibs.toml, key redis.enabled (over redis.host)",
        ),
        ({}, "redisson.enabled = false\nredis.enabled = true", "sqlite://", "file dibs.toml, key redisson.enabled"),
        ({"REDIS_ENABLED": "1"}, "redis.enabled = false", "redis://localhost:6379/0", "environment REDIS_ENABLED"),
        ({"REDIS_HOST": "b"}, 'url = "redis://a"', "redis://b:6379/0", "environment REDIS_HOST"),
        ({"DIBS_URL": "redis://b"}, "redis.enabled = false", "redis://b", "environment DIBS_URL"),
        (
            {"REDIS_PASSWORD": "p"},
            'url = "rediss://a:7000/2"',
            "rediss://:p@a:7000/2",
            "file dibs.toml, key url and environment REDIS_PASSWORD",
        ),
        (
            {"REDIS_PASSWORD": "p"},
            'redis.host = "a"',
            "redis://:p@a:6379/0",
            "file dibs.toml, key redis.host and environment REDIS_PASSWORD",
        ),
        ({"REDIS_PASSWORD": "new"}, 'url = "redis://u:old@a"', "redis://:new@a", None),
        ({"REDIS_DB": "4"}, 'url = "redis://u:old@a/1?protocol=2"', "redis://u:old@a/4?protocol=2", None),
        ({"REDIS_PASSWORD": "p"}, 'url = "sqlite:///x"', "sqlite:///x", "file dibs.toml, key url"),
        (
            {"REDIS_HOST": "b"},
            'redis.host = "a"\nredis.password = "p"\nredis.database = 2',
            "redis://:p@b:6379/2",
            "environment REDIS_HOST and file dibs.toml, key redis.password, redis.database",
        ),
        ({}, 'redis.password = ""', "sqlite://", "default"),
    ],
)
def test_a_file_names_a_store_and_the_environment_completes_it(
    settled: Settled, environment: Mapping[str, str], toml: str, url: str, source: str | None
) -> None:
    config = settled(environment, toml=toml)
    assert config.url == url
    assert source is None or config.source("url") == source


@pytest.mark.parametrize("password", ["p@ss:w/rd?#[]%41 &=+", "%", "ü€𝄞", " blanks ", "a\nb", "***", ":@/", "'\""])
def test_any_password_gets_through_to_redis_as_it_is(settled: Settled, password: str) -> None:
    from_pieces = settled({"REDIS_HOST": "a", "REDIS_USERNAME": password, "REDIS_PASSWORD": password}).url
    onto_a_url = settled({"REDIS_USERNAME": password, "REDIS_PASSWORD": password}, toml='url = "redis://a:6379/0"').url
    for url in (from_pieces, onto_a_url):
        assert url is not None
        heard = cast("Any", redis.connection).parse_url(url)
        assert (heard["password"], heard["host"], heard["port"], heard["db"]) == (password, "a", 6379, 0)
        assert heard["username"] == password.strip()


def test_a_server_with_a_password_is_reached_by_its_pieces(
    monkeypatch: pytest.MonkeyPatch, private_server: Server
) -> None:
    password = "p@ss:w/rd?#%41"  # noqa: S105 - not anybody's
    private_server.ask("CONFIG", "SET", "requirepass", password)
    monkeypatch.setenv("REDIS_HOST", "127.0.0.1")
    monkeypatch.setenv("REDIS_PORT", f"tcp://127.0.0.1:{private_server.port}")
    monkeypatch.setenv("REDIS_PASSWORD", password)
    with dibs.connect(quiet=True) as d, d.lock("a") as lease:
        assert lease.fence > 0
        assert password not in repr(d.config)


def test_switching_redis_off_is_no_choice_to_warn_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_ENABLED", "false")
    diary = Diary()
    with dibs.connect(observers=[diary], quiet=True) as d, d.lock("a"):
        assert d.config.source("url") == "environment REDIS_ENABLED"
    assert not diary.of(ChoseEmbedded)


def test_with_redis_off_a_function_is_locked_among_all_processes_of_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {"REDIS_ENABLED": "false", "REDIS_HOST": "nowhere.invalid", "REDIS_PORT": "6379"}.items():
        monkeypatch.setenv(name, value)
    elsewhere = "import dibs, sys; sys.exit(dibs.connect().is_locked('hourly-task'))"

    def run_elsewhere() -> int:
        return subprocess.run([sys.executable, "-c", elsewhere], check=False).returncode

    with dibs.connect(quiet=True) as d:

        @d.locked("hourly-task", ttl=300, on_conflict="skip")
        def hourly() -> int:
            return run_elsewhere()

        assert hourly() == 1, "another process sees that it is locked"
        assert run_elsewhere() == 0
        with dibs.connect(quiet=True) as other, other.lock("hourly-task"):
            assert isinstance(hourly(), dibs.Skipped)


def test_a_store_of_this_machine_alone_is_refused_with_who_forbade_it(folder: Path) -> None:
    (folder / "dibs.toml").write_text("require_shared = true\nredis.enabled = false")
    with pytest.raises(ConfigError, match=r"other machines do not share.*\(file dibs.toml, key require_shared\)"):
        dibs.connect()


@pytest.mark.parametrize("url", ["nope://user:hunter2@host", "redis://:hun/ter2@host:x", "hunter2"])
def test_a_wrong_url_is_told_with_its_source_and_without_its_password(
    monkeypatch: pytest.MonkeyPatch, folder: Path, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "dibs.toml").write_text(f'url = "{url}"')
    with caplog.at_level(logging.DEBUG), pytest.raises(ConfigError, match=r"file dibs.toml, key url") as told:
        dibs.connect()
    monkeypatch.setenv("REDIS_URL", url)
    with pytest.raises(ConfigError, match="environment REDIS_URL") as told_again:
        dibs.connect()
    for said in (str(told.value), str(told_again.value), caplog.text):
        assert "hunter2" not in said
        assert "ter2" not in said


def test_a_password_that_is_said_apart_is_for_all_servers_of_a_quorum() -> None:
    login = Login("app", "p,w", 2)
    assert with_login("redlock://a:1,b:2/7,c:3", login) == "redlock://app:p%2Cw@a:1/2,b:2/7,c:3"
    assert with_login("redlock://a:1/4,b:2", Login(None, "x")) == "redlock://:x@a:1/4,b:2"


def test_who_we_are_to_a_service_of_sentinels_or_a_cluster_may_be_said_apart() -> None:
    login = Login("app", "p,w", 2)
    assert with_login("redis+sentinel://a:1,b:2/mymaster", login) == "redis+sentinel://app:p%2Cw@a:1,b:2/mymaster/2"
    assert with_login("valkeys+sentinel://a/m/7", Login(None, "x")) == "valkeys+sentinel://:x@a/m/7"
    assert with_login("redis+cluster://a:1,b:2", Login("app", "x", 0)) == "redis+cluster://app:x@a:1,b:2"
    assert with_login("valkey+embedded://", login) == "valkey+embedded://"
