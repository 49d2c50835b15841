"""A primary and its workers: processes that are started, watched, restarted under their number, and rolled."""

from __future__ import annotations

from dibs.runtime.supervisor.post import Program
from dibs.runtime.supervisor.primary import Supervisor

__all__ = ["Program", "Supervisor"]
