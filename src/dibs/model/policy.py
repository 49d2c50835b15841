"""What a program does about a lock while nobody knows who has it."""

from __future__ import annotations

from typing import Literal, TypeAlias

OnOutage: TypeAlias = Literal["closed", "open", "local"]
"""Raise; run without a lock; or take the one of this machine."""

OnOutageOfJob: TypeAlias = Literal["closed", "skip", "open", "local"]
"""The same for what can be left out."""

ASK_EVERY = 5.0
"""While an outage lasts, how often somebody asks the store again; all the others do without it at once."""
