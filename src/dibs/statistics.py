"""What a client tells of its locks in numbers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dibs.flows import counting
from dibs.runtime.blocking import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.counts import Count
    from dibs.model.stats import Stats
    from dibs.runtime.engine import Engine

DOING = "read the statistics"


class Statistics:
    """What a client tells of all the locks of its namespace, whoever took them."""

    _engine: Engine

    def stats(self, *, local: bool = False) -> Stats:
        """What the whole fleet has counted, this client included up to now.

        Others report every ten seconds. With `local`: only what this client has counted, without asking the store.
        """
        if local:
            return self._local_stats()
        return _read(*run(counting.totals(self._engine.blocking(DOING), self._engine.desk)))

    async def astats(self, *, local: bool = False) -> Stats:
        """What the whole fleet has counted, this client included up to now.

        Others report every ten seconds. With `local`: only what this client has counted, without asking the store.
        """
        if local:
            return self._local_stats()
        return _read(*await counting.totals(self._engine.aio(DOING), self._engine.desk))

    def _local_stats(self) -> Stats:
        from dibs.model.stats import summed  # noqa: PLC0415 - needed by few

        return summed(self._engine.tally.counted(), time.time())


def _read(counts: Sequence[Count], at: float) -> Stats:
    from dibs.model.stats import read  # noqa: PLC0415 - needed by few

    return read(counts, at)
