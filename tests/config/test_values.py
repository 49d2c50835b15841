"""Values that make no sense: each is refused with its name, itself, its source and what would be right."""

from __future__ import annotations

import re

import pytest

from dibs import ConfigError
from dibs.config.urls import masked
from tests.config.conftest import Settled

A_PORT = "give a port from 1 to 65535"
A_SWITCH = "say 1 or 0"
A_TTL = "give a duration from 100ms to 7d"


@pytest.mark.parametrize(
    ("variable", "value", "right"),
    [
        ("REDIS_PORT", "0", A_PORT),
        ("REDIS_PORT", "65536", A_PORT),
        ("REDIS_PORT", "-1", A_PORT),
        ("REDIS_PORT", "6379x", A_PORT),
        ("REDIS_PORT", "63.79", A_PORT),
        ("REDIS_PORT", "٦٣٧٩", A_PORT),
        ("REDIS_PORT", "9" * 50, A_PORT),
        ("REDIS_PORT", "tcp://10.0.0.1", A_PORT),
        ("REDIS_PORT", "udp://10.0.0.1:53", A_PORT),
        ("REDIS_PORT", "tcp://10.0.0.1:99999", A_PORT),
        ("REDIS_DB", "-1", "give the number of a database"),
        ("REDIS_DB", "main", "give the number of a database"),
        ("REDIS_HOST", "a:6379", "REDIS_URL takes a whole URL"),
        ("REDIS_HOST", "redis://a", "REDIS_URL takes a whole URL"),
        ("REDIS_HOST", "a b", "give the name or the address of one server"),
        ("REDIS_HOST", "u@a", "give the name or the address of one server"),
        ("REDIS_ENABLED", "maybe", A_SWITCH),
        ("REDIS_ENABLED", "2", A_SWITCH),
        ("REDISSON_ENABLED", "enabled", A_SWITCH),
        ("DIBS_ENABLED", "y e s", A_SWITCH),
        ("DIBS_REQUIRE_SHARED", "maybe", A_SWITCH),
        ("WORKFLOW_LOCK_ENABLED", "tru", A_SWITCH),
        ("DIBS_TTL", "soon", A_TTL),
        ("DIBS_TTL", "-5", A_TTL),
        ("DIBS_TTL", "0", A_TTL),
        ("DIBS_TTL", "8d", A_TTL),
        ("DIBS_TTL", "inf", A_TTL),
        ("DIBS_TTL", "nan", A_TTL),
        ("DIBS_TTL", "1e3", A_TTL),
        ("DIBS_TTL", "9" * 400, A_TTL),
        ("WORKFLOW_LOCK_TIMEOUT", "half an hour", A_TTL),
        ("WORKFLOW_LOCK_WAIT_TIME", "-1s", "give a duration from 0ms to 365d"),
        ("DIBS_PATIENCE", "1ms", "give a duration from 100ms to 1h"),
        ("REDIS_TIMEOUT", "5", "a bare number counts milliseconds"),
        ("DIBS_ON_OUTAGE", "raise", "say one of closed, skip, open, local"),
        ("DIBS_MODE", "dark", "say one of normal, shadow"),
        ("DIBS_NAMESPACE", "a:b", "a namespace may hold no ':'"),
        ("DIBS_LABELS", "gpu,,eu", "a label needs at least one character; say them as 'gpu,eu'"),
        ("DIBS_LABELS", "big gpu", "a label may hold no blanks and no commas"),
        ("DIBS_VERSION", "1\x002", "a version may hold no control or invisible characters"),
        ("DIBS_ALERT_AFTER_REFUSALS", "-1", "give a whole number, 0 for none"),
        ("DIBS_ALERT_AFTER_REFUSALS", "often", "give a whole number, 0 for none"),
    ],
)
def test_a_variable_that_makes_no_sense_is_refused(settled: Settled, variable: str, value: str, right: str) -> None:
    shown = repr(value) if len(value) < 58 else repr(value)[:60]
    with pytest.raises(ConfigError, match=re.escape(f"environment {variable}={shown}") + f"…?: .*{re.escape(right)}"):
        settled({"REDIS_PASSWORD": "p", variable: value})


@pytest.mark.parametrize(
    ("line", "key", "shown", "right"),
    [
        ("redis.port = 70000", "redis.port", "70000", A_PORT),
        ("redis.port = true", "redis.port", "True", A_PORT),
        ("redis.port = [6379]", "redis.port", "[6379]", A_PORT),
        ('redis.host = ""', "redis.host", "''", "give the name or the address of one server"),
        ("redis.enabled = 2", "redis.enabled", "2", A_SWITCH),
        ("enabled = 1.0", "enabled", "1.0", A_SWITCH),
        ('enabled = ""', "enabled", "''", A_SWITCH),
        ("ttl = true", "ttl", "True", A_TTL),
        ("ttl = inf", "ttl", "inf", A_TTL),
        ("ttl = 1979-05-27", "ttl", "datetime.date(1979, 5, 27)", A_TTL),
        ("namespace = 5", "namespace", "5", "a namespace is text"),
        ("on_outage = 5", "on_outage", "5", "say one of closed"),
        ("workflow.lock.wait-time = -1", "workflow.lock.wait-time", "-1", "give a duration from 0ms"),
        ("redis.timeout = 2", "redis.timeout", "2", "a bare number counts milliseconds"),
        ("labels = 5", "labels", "5", "labels are text, not int"),
        ('labels = ["gpu", 5]', "labels", "['gpu', 5]", "a label is text, not int"),
        ("version = 1.2", "version", "1.2", "a version is text, not float (in a file, put it in quotes)"),
        ("alert_after_refusals = true", "alert_after_refusals", "True", "give a whole number, 0 for none"),
        ("alert_after_refusals = 2.5", "alert_after_refusals", "2.5", "give a whole number, 0 for none"),
        ("url = 5", "url", "***", "name a store by its URL"),
        ('url = " "', "url", "***", "name a store by its URL"),
        ("redis.password = 12345", "redis.password", "***", "give text (in a file, in quotes)"),
    ],
)
def test_a_value_in_a_file_that_makes_no_sense_is_refused(
    settled: Settled, line: str, key: str, shown: str, right: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"file dibs.toml, key {key}={shown}: ") + f".*{re.escape(right)}"):
        settled({"REDIS_DB": "1"}, toml=line)


@pytest.mark.parametrize("word", ["1", "true", "TRUE", " Yes ", "on"])
def test_all_the_words_for_yes_are_understood(settled: Settled, word: str) -> None:
    assert settled({"DIBS_REQUIRE_SHARED": word}).require_shared is True


@pytest.mark.parametrize("word", ["0", "false", "False", " no ", "OFF"])
def test_all_the_words_for_no_are_understood(settled: Settled, word: str) -> None:
    assert settled({"DIBS_ENABLED": word}).enabled is False


@pytest.mark.parametrize(
    ("variable", "text", "patience"),
    [
        ("REDIS_TIMEOUT", "2500", 2.5),
        ("REDIS_TIMEOUT", "2500ms", 2.5),
        ("REDIS_TIMEOUT", "3s", 3.0),
        ("DIBS_PATIENCE", "3", 3.0),
        ("DIBS_PATIENCE", " 1m 30s ", 90.0),
    ],
)
def test_redis_counts_its_timeout_in_milliseconds(settled: Settled, variable: str, text: str, patience: float) -> None:
    config = settled({variable: text})
    assert (config.patience, config.source("patience")) == (patience, f"environment {variable}")


def test_our_own_word_for_patience_comes_before_redis_s(settled: Settled) -> None:
    assert settled({"DIBS_PATIENCE": "5", "REDIS_TIMEOUT": "6000"}).patience == 5.0
    assert settled({"REDIS_TIMEOUT": "6000"}, toml="patience = 5").patience == 6.0


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://host:6379/0", "redis://host:6379/0"),
        ("redis://user:hunter2@host/0", "redis://user:***@host/0"),
        ("redis://:hunter2@host", "redis://:***@host"),
        ("redis://hunter2@host", "redis://***@host"),
        ("redis://host?password=hunter2&db=1", "redis://host?password=***"),
        ("redis://host?db=1&ssl_password=hunter2", "redis://host?db=1&ssl_password=***"),
        ("redis://host?ssl_ca_certs=/etc/ca.pem", "redis://host?ssl_ca_certs=/etc/ca.pem"),
        ("redis://:hun/ter2@host", "redis://***"),
        ("redis://:hun?ter2@host", "redis://***"),
        ("redis://:hun#ter2@host", "redis://***"),
        ("redis://:hun@ter2@host", "redis://***"),
        ("redis://host?password=hun@ter2", "redis://***"),
        ("redis://host#hunter2", "redis://***"),
        ("hunter2", "***"),
        ("sqlite:////srv/locks.sqlite", "sqlite:////srv/locks.sqlite"),
        ("unix://user:hunter2@/run/redis.sock?db=1", "unix://user:***@/run/redis.sock?db=1"),
    ],
)
def test_a_url_is_shown_without_its_password(settled: Settled, url: str, shown: str) -> None:
    assert masked(url) == shown
    config = settled({"DIBS_URL": url})
    assert config.url == url
    for text in (repr(config), str(config), f"{config}", *config.lines()):
        assert "hunter2" not in text
        assert "ter2" not in text
    assert f"url = {shown!r} (environment DIBS_URL)" in config.lines()
