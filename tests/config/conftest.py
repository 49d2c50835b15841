"""An empty folder to be in, an environment that says nothing, and the two ways to ask what holds then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import pytest

from dibs.config import Config
from dibs.config.file import NAMED_BY
from dibs.config.resolution import resolved
from dibs.config.settings import ALL

Settled: TypeAlias = Callable[..., Config]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [NAMED_BY, *(variable for setting in ALL for variable in setting.variables)]:
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "app"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return folder


@pytest.fixture
def settled(folder: Path) -> Settled:
    """What holds with these arguments, this environment and this dibs.toml."""

    def settle(environment: Mapping[str, str] | None = None, toml: str = "", **arguments: object) -> Config:
        if toml:
            (folder / "dibs.toml").write_text(toml)
        return resolved(arguments, environment or {})[0]

    return settle
