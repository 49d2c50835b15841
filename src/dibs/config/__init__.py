"""What a client was told, where it was told so, and what holds where nobody said a word."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from dibs.config.urls import masked
from dibs.model.request import PATIENCE, TTL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.model.policy import OnOutageOfJob

Mode: TypeAlias = Literal["normal", "shadow"]

DEFAULT = "default"


@dataclass(frozen=True, slots=True, repr=False)
class Config:
    """The settings of one client. Durations are in seconds; `source("ttl")` says where one came from."""

    url: str | None = None
    namespace: str = "dibs"
    ttl: float = TTL
    patience: float = PATIENCE
    on_outage: OnOutageOfJob = "closed"
    enabled: bool = True
    mode: Mode = "normal"
    require_shared: bool = False
    workflow_enabled: bool = True
    workflow_ttl: float = TTL
    workflow_wait: float = 0.0
    sources: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """By name, where each setting came from that is not a default."""

    def source(self, name: str) -> str:
        """Where a setting came from: "argument", "environment DIBS_URL", "file dibs.toml, key ttl" or "default"."""
        if name not in NAMES:
            raise AttributeError(f"no setting goes by {name!r}; there are {', '.join(NAMES)}")
        return dict(self.sources).get(name, DEFAULT)

    def lines(self) -> list[str]:
        """Each setting with its value and its source, to be shown to people: passwords are masked."""
        return [f"{name} = {self._shown(name)} ({self.source(name)})" for name in NAMES]

    def but(self, source: str, /, changed: Mapping[str, object]) -> Config:
        """The same with other values for some settings, from that source."""
        sources = dict(self.sources) | dict.fromkeys(changed, source)
        return replace(self, **changed, sources=tuple(sources.items()))  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"Config({', '.join(f'{name}={self._shown(name)}' for name in NAMES)})"

    def _shown(self, name: str) -> str:
        value = getattr(self, name)
        return repr(masked(value)) if name == "url" and value is not None else repr(value)


NAMES = tuple(setting.name for setting in fields(Config) if setting.name != "sources")
"""The settings, in the order in which they are shown."""
