"""Which word counts: an argument's, then the environment's, then a file's, then nobody's."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

import dibs
from dibs import ConfigError
from dibs.config import NAMES, Config
from dibs.config.resolution import resolved
from dibs.config.settings import OWN
from tests.config.conftest import Settled

IN_THE_ENVIRONMENT = [setting.name for setting in OWN if setting.variables]
FROM_A_FILE = {
    "url": ('url = "memory://file"', "memory://file"),
    "namespace": ('namespace = "file"', "file"),
    "ttl": ("ttl = 7", 7.0),
    "patience": ("patience = '7s'", 7.0),
    "retry_interval": ("redisson.config.singleServerConfig.retryInterval = 500", 0.5),
    "min_replicas": ("min_replicas = 1", 1),
    "on_outage": ('on_outage = "open"', "open"),
    "local_url": ('local_url = "sqlite:///file.sqlite"', "sqlite:///file.sqlite"),
    "enabled": ("enabled = false", False),
    "mode": ('mode = "shadow"', "shadow"),
    "require_shared": ("require_shared = true", True),
    "labels": ('labels = ["gpu", "eu", "gpu"]', ("eu", "gpu")),
    "version": ('version = "1.2"', "1.2"),
    "alert_after_refusals": ("alert_after_refusals = 7", 7),
    "workflow_enabled": ("workflow.lock.enabled = false", False),
    "workflow_ttl": ("workflow.lock.timeout = 60", 60.0),
    "workflow_wait": ("workflow.lock.wait-time = 5", 5.0),
}
FROM_THE_ENVIRONMENT = {
    "url": ("DIBS_URL", "memory://env", "memory://env"),
    "namespace": ("DIBS_NAMESPACE", "env", "env"),
    "ttl": ("DIBS_TTL", "8", 8.0),
    "patience": ("DIBS_PATIENCE", "8s", 8.0),
    "min_replicas": ("DIBS_MIN_REPLICAS", "2", 2),
    "on_outage": ("DIBS_ON_OUTAGE", "local", "local"),
    "local_url": ("DIBS_LOCAL_URL", "memory://env", "memory://env"),
    "enabled": ("DIBS_ENABLED", "on", True),
    "mode": ("DIBS_MODE", "Normal", "normal"),
    "require_shared": ("DIBS_REQUIRE_SHARED", "no", False),
    "labels": ("DIBS_LABELS", "gpu, arm", ("arm", "gpu")),
    "version": ("DIBS_VERSION", " 2024.1-rc1 ", "2024.1-rc1"),
    "alert_after_refusals": ("DIBS_ALERT_AFTER_REFUSALS", " 8 ", 8),
    "workflow_enabled": ("WORKFLOW_LOCK_ENABLED", "true", True),
    "workflow_ttl": ("WORKFLOW_LOCK_TIMEOUT", "1m30s", 90.0),
    "workflow_wait": ("WORKFLOW_LOCK_WAIT_TIME", "2.5", 2.5),
}
BY_ARGUMENT = {
    "url": ("memory://argument", "memory://argument"),
    "namespace": ("argument", "argument"),
    "ttl": (timedelta(seconds=9), 9.0),
    "min_replicas": (3, 3),
    "on_outage": ("skip", "skip"),
    "enabled": (False, False),
    "mode": ("shadow", "shadow"),
    "alert_after_refusals": (9, 9),
}


def test_where_nobody_says_a_word_the_defaults_hold(settled: Settled) -> None:
    config = settled()
    assert config == Config(url="sqlite://")
    assert {config.source(name) for name in NAMES} == {"default"}
    assert (config.namespace, config.ttl, config.patience, config.on_outage) == ("dibs", 30.0, 2.0, "closed")
    assert (config.enabled, config.mode, config.require_shared) == (True, "normal", False)
    assert (config.workflow_enabled, config.workflow_ttl, config.workflow_wait) == (True, 30.0, 0.0)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_comes_before_a_default(settled: Settled, name: str) -> None:
    line, value = FROM_A_FILE[name]
    config = settled(toml=line)
    assert getattr(config, name) == value
    assert config.source(name) == f"file dibs.toml, key {line.partition(' =')[0]}"


@pytest.mark.parametrize("name", IN_THE_ENVIRONMENT)
def test_the_environment_comes_before_a_file(settled: Settled, name: str) -> None:
    variable, text, value = FROM_THE_ENVIRONMENT[name]
    config = settled({variable: text}, toml=FROM_A_FILE[name][0])
    assert getattr(config, name) == value
    assert config.source(name) == f"environment {variable}"


@pytest.mark.parametrize("name", BY_ARGUMENT)
def test_an_argument_comes_before_the_environment(settled: Settled, name: str) -> None:
    variable, text, _ = FROM_THE_ENVIRONMENT[name]
    said, value = BY_ARGUMENT[name]
    config = settled({variable: text}, **{name: said})
    assert getattr(config, name) == value
    assert config.source(name) == "argument"


def test_each_setting_comes_from_where_it_was_said(settled: Settled) -> None:
    config = settled({"DIBS_TTL": "8"}, toml='ttl = 7\nmode = "shadow"\non_outage = "open"', mode="normal")
    assert [config.source(name) for name in ("ttl", "mode", "on_outage", "enabled")] == [
        "environment DIBS_TTL",
        "argument",
        "file dibs.toml, key on_outage",
        "default",
    ]


@pytest.mark.parametrize("blank", ["", "  ", "\t\n"])
@pytest.mark.parametrize("name", IN_THE_ENVIRONMENT)
def test_a_blank_variable_says_nothing(settled: Settled, name: str, blank: str) -> None:
    assert settled({FROM_THE_ENVIRONMENT[name][0]: blank}).source(name) == "default"


def test_the_bare_namespace_can_be_said_by_an_argument_and_in_a_file(settled: Settled) -> None:
    assert settled(namespace="").namespace == ""
    assert settled({"DIBS_NAMESPACE": ""}, toml='namespace = ""').namespace == ""


def test_connect_takes_it_all_and_the_client_shows_it(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    (folder / "dibs.toml").write_text('namespace = "file"\nttl = "10s"\n')
    monkeypatch.setenv("DIBS_TTL", "20s")
    with dibs.connect("memory://shown", quiet=True) as d:
        assert d.config == resolved({"url": "memory://shown"})[0]
        assert (d.namespace, d.config.ttl, d.config.source("ttl")) == ("file", 20.0, "environment DIBS_TTL")
    with dibs.connect("memory://shown", namespace="mine", ttl="40s", on_outage="open", quiet=True) as d:
        assert (d.namespace, d.config.namespace, d.config.ttl, d.config.on_outage) == ("mine", "mine", 40.0, "open")


def test_a_client_made_by_hand_has_a_config_too() -> None:
    with dibs.connect("memory://x", quiet=True) as made:
        d = dibs.Dibs(made._engine.backend, namespace="other")
        assert (d.config.namespace, d.config.source("namespace"), d.config.ttl) == ("other", "argument", 30.0)
        d.close()
    by_hand = Config(ttl=5.0)
    assert (by_hand.source("ttl"), by_hand.source("patience")) == ("argument", "default")


def test_a_lock_of_which_no_ttl_is_said_has_that_of_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIBS_TTL", "5m")
    with dibs.connect("memory://ttl", quiet=True) as d, d.lock("a") as lease, d.try_lock("b") as tried:
        assert tried is not None
        assert 100 < lease.remaining <= 300
        assert 100 < tried.remaining <= 300
        with d.lock("c", ttl=1) as short:
            assert short.remaining <= 1


def test_a_setting_that_does_not_exist_has_no_source(settled: Settled) -> None:
    with pytest.raises(AttributeError, match=r"no setting goes by 'tll'; there are url, namespace, ttl"):
        settled().source("tll")


def test_the_lines_tell_every_setting_with_its_source(settled: Settled) -> None:
    lines = settled({"DIBS_TTL": "8"}).lines()
    assert len(lines) == len(NAMES)
    assert "ttl = 8.0 (environment DIBS_TTL)" in lines
    assert "url = 'sqlite://' (default)" in lines


def test_a_config_does_not_change(settled: Settled) -> None:
    with pytest.raises(AttributeError):
        settled().ttl = 5.0  # type: ignore[misc]
    assert hash(settled()) == hash(settled())


def test_an_argument_that_is_wrong_is_named() -> None:
    with pytest.raises(ConfigError, match=r"argument ttl='soon': give a duration from 100ms to 7d"):
        dibs.connect("memory://", ttl="soon")
    with pytest.raises(ConfigError, match=r"argument on_outage='ajar': say one of closed, skip, open, local"):
        dibs.connect("memory://", on_outage="ajar")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"argument mode=7: say one of normal, shadow"):
        dibs.connect("memory://", mode=7)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"argument enabled='maybe': say 1 or 0"):
        dibs.connect("memory://", enabled="maybe")  # type: ignore[arg-type]
