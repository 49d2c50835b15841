"""Which store stands in for one that is silent is a setting, and only one of this machine can be it."""

from __future__ import annotations

from pathlib import Path

import pytest

import dibs
from dibs import ConfigError, Dibs
from dibs.config import Config
from dibs.stores.memory import MemoryBackend
from dibs.testing.outage import Outage

WAIT = 0.2


def test_local_locks_are_taken_where_the_configuration_says(folder: Path) -> None:
    outage = Outage(MemoryBackend())
    outage.trouble = "refused"
    url = f"sqlite:///{folder}/stand-in.sqlite"
    with Dibs(outage, config=Config(local_url=url)) as d, d.lock("a", wait=WAIT, on_outage="local") as lease:
        assert lease.policy == "local"
        with dibs.connect(url, quiet=True) as other:
            assert other.inspect("a").state == "held"


def test_the_environment_and_a_file_name_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "dibs.toml").write_text(f'local_url = "sqlite:///{folder}/file.sqlite"')
    with dibs.connect("memory://main", on_outage="local", quiet=True) as d:
        assert d._engine.detours.local.backend.server == f"sqlite:///{folder}/file.sqlite"
    monkeypatch.setenv("DIBS_LOCAL_URL", f"sqlite:///{folder}/env.sqlite")
    with dibs.connect("memory://main", quiet=True) as d:
        d.lock("a", on_outage="local")
        assert d._engine.detours.local.backend.server == f"sqlite:///{folder}/env.sqlite"


def test_a_store_that_other_machines_share_cannot_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("redis", reason="no redis-py on this machine")
    monkeypatch.setenv("DIBS_LOCAL_URL", "redis://:hunter2@other:6379/0")
    with dibs.connect("memory://main", quiet=True) as d:
        d.lock("a", on_outage="open")
        with pytest.raises(
            ConfigError, match=r"local_url \(environment DIBS_LOCAL_URL\): redis://other:6379.* is shared"
        ):
            d.lock("a", on_outage="local")
    with pytest.raises(ConfigError, match="name one of this machine, as in sqlite:////var") as told:
        dibs.connect("memory://main", on_outage="local", quiet=True)
    assert "hunter2" not in str(told.value)


def test_a_url_that_is_none_is_told_with_its_source(folder: Path) -> None:
    (folder / "dibs.toml").write_text('local_url = "mysql://host"')
    with pytest.raises(ConfigError, match=r"local_url \(file dibs.toml, key local_url\): no store goes by mysql://"):
        dibs.connect("memory://main", on_outage="local", quiet=True)
    (folder / "dibs.toml").write_text("local_url = 5")
    with pytest.raises(ConfigError, match=r"file dibs.toml, key local_url=\*\*\*: name a store by its URL"):
        dibs.connect("memory://main", quiet=True)


def test_its_password_is_masked_as_that_of_any_store() -> None:
    config = Config(local_url="redis://:hunter2@other")
    assert "local_url = 'redis://:***@other' (argument)" in config.lines()
    assert "hunter2" not in repr(config)


def test_the_silence_of_a_stand_in_is_borne_for_as_long(folder: Path) -> None:
    with Dibs(MemoryBackend(), config=Config(patience=0.3, local_url=f"sqlite:///{folder}/a.sqlite")) as d:
        assert d._engine.detours.local.desk.patience == 0.3
