"""YAML, and with it the configuration of source 001: Redis, Redisson and the workflow's locks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dibs import ConfigError
from dibs.config import Config
from dibs.config.resolution import resolved

pytest.importorskip("yaml", reason="no PyYAML on this machine")

SOURCE_001 = """
redis:
  enabled: true
  host: your-redis-host
  port: 6379
  timeout: 2500ms
redisson:
  enabled: true
  config: |
    singleServerConfig:
      address: redis://lock-host:6380
      timeout: 3000
      retryAttempts: 3
      retryInterval: 1500
      database: 2
      connectionMinimumIdleSize: 2
      connectionPoolSize: 10
workflow:
  lock:
    enabled: true
    timeout: 60     # Lock timeout in seconds
    wait-time: 5    # Wait time for lock acquisition
spring:
  application:
    name: workflow-engine
"""


def config(**environment: str) -> Config:
    return resolved({}, environment)[0]


def notices(**environment: str) -> tuple[str, ...]:
    return resolved({}, environment)[1]


@pytest.mark.parametrize("name", ["application.yaml", "application.yml"])
def test_the_configuration_of_source_001_is_understood(folder: Path, name: str) -> None:
    (folder / name).write_text(SOURCE_001)
    found = config()
    assert found.url == "redis://lock-host:6380/2"
    assert found.source("url") == (
        f"file {name}, key redisson.config.singleServerConfig.address, redisson.config.singleServerConfig.database"
    )
    assert found.patience == 3.0 + 3 * 1.5
    assert found.source("patience") == (
        f"file {name}, key redisson.config.singleServerConfig.timeout, "
        "redisson.config.singleServerConfig.retryAttempts, redisson.config.singleServerConfig.retryInterval"
    )
    assert (found.workflow_enabled, found.workflow_ttl, found.workflow_wait) == (True, 60.0, 5.0)
    assert found.source("workflow_wait") == f"file {name}, key workflow.lock.wait-time"


def test_what_redisson_has_and_dibs_does_not_need_is_a_notice(folder: Path) -> None:
    (folder / "application.yml").write_text(SOURCE_001.replace("workflow:", "    threads: 16\nworkflow:"))
    told = notices()
    for word, reason in {
        "connectionPoolSize": "dibs keeps no pool of connections",
        "connectionMinimumIdleSize": "dibs keeps no pool of connections",
        "threads": "dibs has nothing like it",
    }.items():
        [text] = [text for text in told if f".{word} " in text]
        assert reason in text
    assert len(told) == 3


def test_the_environment_of_source_001_comes_before_its_file(folder: Path) -> None:
    (folder / "application.yml").write_text(SOURCE_001)
    assert config(REDISSON_ENABLED="false").url == "sqlite://"
    assert config(REDIS_ENABLED="false").url == "sqlite://"
    assert config(REDIS_HOST="other").url == "redis://other:6379/2"
    assert config(REDIS_PASSWORD="p w").url == "redis://:p%20w@lock-host:6380/2"  # noqa: S106 - not anybody's
    assert config(REDIS_TIMEOUT="4000").patience == 4.0
    assert config(WORKFLOW_LOCK_ENABLED="false").workflow_enabled is False
    assert config(WORKFLOW_LOCK_TIMEOUT="30", WORKFLOW_LOCK_WAIT_TIME="0").workflow_ttl == 30.0


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("redis: {host: a, port: 7000, password: 'p@', database: 3}", "redis://:p%40@a:7000/3"),
        ("redis: {enabled: yes}", "redis://localhost:6379/0"),
        ("redis: {host: a, enabled: off}", "sqlite://"),
        ("redis:\n  host: a\n  password:\n", "redis://a:6379/0"),
        ("redis.host: a\nredis.port: 7000\n", "redis://a:7000/0"),
        (
            "redisson: {config: {singleServerConfig: {address: 'rediss://a', username: u, password: p}}}",
            "rediss://u:p@a",
        ),
        ('redisson: {config: \'{"singleServerConfig": {"address": "redis://a"}}\'}', "redis://a"),
        ("redisson: {enabled: true, config: {singleServerConfig: {address: 'redis://a', database: 0}}}", "redis://a/0"),
        ("redisson: {enabled: false, config: {singleServerConfig: {address: 'redis://a'}}}", "sqlite://"),
    ],
)
def test_all_the_ways_to_name_a_server_are_understood(folder: Path, text: str, url: str) -> None:
    (folder / "application.yml").write_text(text)
    assert config().url == url


@pytest.mark.parametrize("kind", ["clusterServersConfig", "sentinelServersConfig", "masterSlaveServersConfig"])
def test_a_redisson_of_many_servers_is_refused_not_forgotten(folder: Path, kind: str) -> None:
    (folder / "application.yml").write_text(f"redisson: {{config: {{{kind}: {{nodeAddresses: ['redis://a']}}}}}}")
    with pytest.raises(ConfigError, match=rf"key redisson.config.{kind}.nodeAddresses: dibs talks to one server"):
        config()


def test_what_others_keep_in_their_file_is_none_of_our_business(folder: Path) -> None:
    (folder / "application.yml").write_text(
        "spring: {redis: {host: foreign}, url: x}\nurl: foreign\nmode: weird\nttl: -1\nserver: {port: 1}\n"
        "redis: {host: a, jedis: {pool: {max-active: 8}}, hots: b}\nworkflow: {engine: x, lock: {tiemout: 5}}\n"
    )
    found, told = resolved({}, {})
    assert (found.url, found.mode, found.ttl) == ("redis://a:6379/0", "normal", 30.0)
    assert [text.partition(" is ignored")[0] for text in told] == [
        "file application.yml, key redis.jedis.pool.max-active",
        "file application.yml, key redis.hots",
        "file application.yml, key workflow.lock.tiemout",
    ]
    assert "did you mean redis.host?" in told[1]
    assert "did you mean workflow.lock.timeout?" in told[2]


def test_our_own_settings_have_a_section_in_a_file_of_others(folder: Path) -> None:
    (folder / "application.yml").write_text("dibs: {ttl: 7, on-outage: open}\nenabled: false")
    assert (config().ttl, config().source("ttl")) == (7.0, "file application.yml, key dibs.ttl")
    assert (config().on_outage, config().enabled) == ("open", True)
    (folder / "application.yml").write_text("dibs: {tll: 7}")
    with pytest.raises(ConfigError, match=r"key dibs.tll: there is no such setting; did you mean ttl\?"):
        config()


def test_a_file_of_others_that_says_nothing_to_us_is_passed_over(folder: Path) -> None:
    (folder.parent / "dibs.toml").write_text("ttl = 7")
    for text in ("server: {port: 1}", "workflow: {engine: x}", "spring: {redis: {host: a}}", "\t- broken: ["):
        (folder / "application.yml").write_text(text)
        assert config().ttl == 7.0


@pytest.mark.parametrize("name", ["dibs.yaml", "dibs.yml"])
def test_a_file_of_our_own_may_be_yaml(folder: Path, name: str) -> None:
    (folder / name).write_text("ttl: 7s\nredis:\n  host: a\n")
    assert (config().ttl, config().url) == (7.0, "redis://a:6379/0")
    (folder / name).write_text("tll: 7")
    with pytest.raises(ConfigError, match=rf"file {name}, key tll: there is no such setting; did you mean ttl\?"):
        config()


def test_spring_s_placeholders_are_filled_from_the_environment(folder: Path) -> None:
    (folder / "application.yml").write_text("redis:\n  host: ${CACHE_HOST:fallback}\n  port: ${cache.port:7000}\n")
    assert config().url == "redis://fallback:7000/0"
    assert config(CACHE_HOST="a", CACHE_PORT="7001").url == "redis://a:7001/0"
    (folder / "application.yml").write_text("redis:\n  host: ${CACHE_HOST}\n")
    with pytest.raises(ConfigError, match=r"key redis.host: nothing fills \$\{CACHE_HOST\}; set CACHE_HOST"):
        config()


def test_documents_for_one_profile_do_not_count(folder: Path) -> None:
    (folder / "application.yml").write_text(
        "redis: {host: a}\n---\nspring: {config: {activate: {on-profile: prod}}}\nredis: {host: b}\n---\n"
        "redis: {port: 7000}\n"
    )
    assert config().url == "redis://a:7000/0"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ttl: 7\nredis: [", r"file dibs.yaml is not written as YAML, in line \d"),
        ("ttl: 7\npassword: *hunter2\n", r"file dibs.yaml is not written as YAML, in line 2"),
        ("ttl: 7\n\tnamespace: hunter2\n", r"file dibs.yaml is not written as YAML, in line 2"),
        ("- ttl\n- 7\n", r"file dibs.yaml is no table but a list: write 'key: value' in it"),
        ("hunter2", r"file dibs.yaml is no table but a str"),
        ("!!python/object/apply:os.system ['true']", r"file dibs.yaml is not written as YAML, in line 1"),
        ("ttl: 2020-99-99", r"file dibs.yaml is not written as YAML"),
        ("redis:\n  password: 12345", r"key redis.password=\*\*\*: give text \(in a file, in quotes\)"),
        ("a: &a\n  b: *a", r"key a.b.b.b.b.* there is no such setting"),
        ("5: 6", r"key 5: there is no such setting"),
        (
            "redisson: {config: 'singleServerConfig: [hunter2'}",
            r"key redisson.config, is not written as YAML, in line 1",
        ),
        ("redisson: {config: 5}", r"key redisson.config=5: give a table with singleServerConfig, or YAML as text"),
    ],
)
def test_broken_yaml_is_told_by_its_line_and_not_by_its_words(folder: Path, text: str, told: str) -> None:
    (folder / "dibs.yaml").write_text(text)
    with pytest.raises(ConfigError, match=told) as refused:
        config(REDIS_ENABLED="1")
    assert "hunter2" not in str(refused.value)


def test_an_empty_file_says_nothing(folder: Path) -> None:
    for text in ("", "# nothing\n", "---\n", "ttl:\n"):
        (folder / "dibs.yaml").write_text(text)
        assert config().source("ttl") == "default"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dibs.yaml", "ttl: 7"),
        ("application.yml", "redis: {host: a}"),
        ("dibs.toml", "redisson.config = 'singleServerConfig: {}'"),
    ],
)
def test_without_pyyaml_the_way_out_is_told(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    program = "import sys; sys.modules['yaml'] = None; import dibs; dibs.connect('memory://')"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env={"PATH": os.defpath}
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"dibs.errors.ConfigError: file {name}")
    assert "needs PyYAML: install the extra: pip install 'dibs-lock[yaml]'" in last
    assert "write it as dibs.toml" in last


def test_without_pyyaml_a_file_of_others_is_not_missed(folder: Path) -> None:
    (folder / "application.yml").write_text("server: {port: 1}")
    program = "import sys; sys.modules['yaml'] = None; import dibs; dibs.connect('memory://')"
    subprocess.run([sys.executable, "-c", program], check=True, env={"PATH": os.defpath})
