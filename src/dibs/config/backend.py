"""The stores that a configuration names, as they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.errors import ConfigError
from dibs.stores import open_store

if TYPE_CHECKING:
    from dibs.config import Config
    from dibs.ports.wire import Backend


def own_store(config: Config) -> Backend:
    """The one where the locks are."""
    options = {"retry_interval": config.retry_interval, "min_replicas": config.min_replicas}
    return _opened(config, "url", config.url or "", **options)


def local_store(config: Config) -> Backend:
    """The one that stands in for it while it is silent, where `on_outage` says `local`."""
    backend = _opened(config, "local_url", config.local_url)
    if backend.guarantee.across_machines:
        raise ConfigError(
            f"local_url ({config.source('local_url')}): {backend.server} is shared by other machines, and may be as "
            "silent as the store that it is to stand in for; name one of this machine, as in sqlite:////var/lib/app/locks"
        )
    return backend


def _opened(config: Config, name: str, url: str, **options: Any) -> Backend:
    try:
        return open_store(url, **options)
    except ConfigError as fault:
        raise ConfigError(f"{name} ({config.source(name)}): {fault}") from fault
