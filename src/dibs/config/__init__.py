"""What a client was told, where it was told so, and what holds where nobody said a word."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from dibs.config.urls import masked
from dibs.model.request import PATIENCE, TTL
from dibs.stores import EMBEDDED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.model.policy import OnOutageOfJob

Mode: TypeAlias = Literal["normal", "shadow"]

ARGUMENT = "argument"
DEFAULT = "default"

_URLS = ("url", "local_url")


@dataclass(frozen=True, slots=True, repr=False)
class Config:
    """The settings of one client. Durations are in seconds; `source("ttl")` says where one came from."""

    url: str | None = None
    namespace: str = "dibs"
    ttl: float = TTL
    patience: float = PATIENCE
    retry_interval: float | None = None
    """Between two tries to connect; `None` is at our own pace."""
    min_replicas: int = 0
    """How many replicas of a server must have what it grants; 0 is not to wait for them."""
    on_outage: OnOutageOfJob = "closed"
    local_url: str = EMBEDDED
    enabled: bool = True
    mode: Mode = "normal"
    require_shared: bool = False
    labels: tuple[str, ...] = ()
    """What a node of this client can do that not all can; jobs may ask for it."""
    version: str = ""
    """Which version of the program a node of this client runs, shown to people."""
    alert_after_refusals: int = 0
    """Of a lock that was refused so many times in a row, an alert is told; 0 is never."""
    workflow_enabled: bool = True
    workflow_ttl: float = TTL
    workflow_wait: float = 0.0
    sources: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """By name, where each setting came from; what is not here was said by whoever made this, or is a default."""

    def source(self, name: str) -> str:
        """Where a setting came from: "argument", "environment DIBS_URL", "file dibs.toml, key ttl" or "default"."""
        if name not in NAMES:
            raise AttributeError(f"no setting goes by {name!r}; there are {', '.join(NAMES)}")
        if (source := dict(self.sources).get(name)) is not None:
            return source
        return DEFAULT if getattr(self, name) == _DEFAULTS[name] else ARGUMENT

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
        return repr(masked(value)) if name in _URLS and value is not None else repr(value)


_DEFAULTS: dict[str, object] = {setting.name: setting.default for setting in fields(Config)}
NAMES = tuple(name for name in _DEFAULTS if name != "sources")
"""The settings, in the order in which they are shown."""
