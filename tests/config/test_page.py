"""docs/configuration.md says what the code does: its table, its files, its order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dibs.config import NAMES, Config
from dibs.config.patience import RETRY_ATTEMPTS, RETRY_INTERVAL, TIMEOUT
from dibs.config.resolution import resolved
from dibs.config.settings import ALL, OWN, Setting
from dibs.config.store import HOST, PORT

PAGE = (Path(__file__).parents[2] / "docs/configuration.md").read_text()
ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| `")]
DEFAULTS: dict[str, object] = {
    "redis.host": HOST,
    "redis.port": PORT,
    "redis.database": 0,
    "timeout": round(TIMEOUT * 1000),
    "retryAttempts": RETRY_ATTEMPTS,
}


def cells(name: str) -> list[str]:
    [row] = [row for row in PAGE.splitlines() if row.startswith(f"| `{name}` |")]
    return [cell.strip() for cell in row.strip("|").split("|")]


def words(cell: str) -> tuple[str, ...]:
    return tuple(re.findall(r"`([^`]+)`", cell))


def test_the_table_has_each_setting_in_the_order_of_the_code() -> None:
    assert [row[0].strip("` ") for row in ROWS] == [setting.name for setting in ALL]
    assert [setting.name for setting in OWN] == list(NAMES)


@pytest.mark.parametrize("setting", ALL, ids=lambda setting: setting.name)
def test_the_table_and_the_code_agree(setting: Setting[object]) -> None:
    _, environment, keys, default, meaning = cells(setting.name)
    assert words(environment) == setting.variables
    assert words(keys) == setting.keys
    assert meaning
    if setting.name == "url":
        assert words(default) == (resolved({}, {})[0].url,)
    elif setting.name == "retry_interval":  # between tries it has none: then the pace is ours
        assert f"`{round(RETRY_INTERVAL * 1000)}`" in meaning
        assert (words(default), Config().retry_interval) == ((), None)
    elif setting.name in {"labels", "version"}:  # a node has none unless somebody says so
        assert (words(default), setting.read("")) == ((), getattr(Config(), setting.name))
    elif setting.name in NAMES:
        assert setting.read(words(default)[0]) == getattr(Config(), setting.name)
    else:
        assert words(default) == tuple(str(DEFAULTS[setting.name]) for _ in [0] if setting.name in DEFAULTS)


def test_the_files_on_the_page_are_understood(folder: Path) -> None:
    pytest.importorskip("yaml", reason="no PyYAML on this machine")
    [toml] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    [yaml] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (folder / "application.yml").write_text(yaml)
    shared, notices = resolved({}, {})
    assert (shared.url, shared.on_outage, notices) == ("redis://redis.internal:6379/2", "open", ())
    (folder / "dibs.toml").write_text(toml)
    own, _ = resolved({}, {"REDIS_PASSWORD": "p"})
    assert (own.url, own.ttl, own.workflow_wait) == ("redis://:p@redis.internal:6379/0", 45.0, 5.0)
