"""A client without jobs."""

from __future__ import annotations

import dibs

d = dibs.connect("memory://", quiet=True)
