"""Clients of a cluster, and what they may never leave behind there."""

from __future__ import annotations

import re
import threading

from dibs import Dibs
from tests.chaos.moments import so
from tests.servers.cluster import Cluster
from tests.stores.redis.faults.party import HISTORIES
from tests.stores.redis.sentinel.household import Household

FOR_GOOD = re.compile(r".*(~fence(\{\d+\})?|~counts|~slots)")


class Guild(Household):
    """They are on as many servers as there are masters."""

    def leaves_nothing_on(self, cluster: Cluster) -> None:
        """When all have gone nothing of them stays but what is remembered."""
        assert so(lambda: not self._left(cluster)).wait(10), self._left(cluster)

    def _left(self, cluster: Cluster) -> set[str]:
        keys = cluster.keys(f"*{self.namespace}:*")
        return {key for key in keys if not (FOR_GOOD.fullmatch(key) or key.endswith(HISTORIES))}

    def _ends(self, client: Dibs) -> None:
        """A closed client has no thread left that asks where slots are."""
        assert so(lambda: not any(thread.name == "dibs-shards" for thread in threading.enumerate())).wait(5)
