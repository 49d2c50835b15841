"""Work that many stand ready for: one tries, the others watch, and take over when it fails or dies."""

from dibs.worker.attempt import Attempt
from dibs.worker.face import Worker
from dibs.worker.loop import Attempts
from dibs.worker.session import Rules

__all__ = ["Attempt", "Attempts", "Rules", "Worker"]
