"""What a client that only watches would have done, had it been asked to lock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.shadowed import Shadowed
    from dibs.runtime.engine import Engine


class ShadowReport:
    """What a client tells of its time in shadow mode."""

    _engine: Engine

    def shadow_report(self) -> Sequence[Shadowed]:
        """What dibs would have done to this client's runs so far, by lock; those with the most to say come first."""
        from dibs.model.shadowed import Shadowed  # noqa: PLC0415 - needed by few

        detours = self._engine.detours
        if not detours.is_shadow:
            raise ConfigError("there is no shadow report: this client does lock. Make one with mode='shadow'")
        seen = [
            Shadowed(name, fates.total(), fates["waited"], fates["skipped"], fates["failed"])
            for name, fates in detours.tally.counted().items()
        ]
        return sorted(seen, key=lambda lock: (-lock.stopped, lock.name))
