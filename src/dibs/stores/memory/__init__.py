"""The store in this process's memory: the executable specification of all others.

`memory://` and `memory://NAME` are shared by every client of the process that names the same URL, and
vanish with the last of them.
"""

from __future__ import annotations

from dibs.stores.memory.wire import MemoryBackend, open_store

__all__ = ["MemoryBackend", "open_store"]
