"""A quorum: several Redis or Valkey servers that know nothing of each other, of which a majority decides.

`redlock://a,b,c` (and `redlocks://` by TLS): the same contract, while any majority of them can be reached.
"""

from __future__ import annotations

from dibs.stores.quorum.address import endpoints
from dibs.stores.quorum.backend import QuorumBackend

__all__ = ["QuorumBackend", "open_store"]


def open_store(url: str, *, retry_interval: float | None = None) -> QuorumBackend:
    """The servers that a URL names."""
    return QuorumBackend(endpoints(url, retry_interval))
