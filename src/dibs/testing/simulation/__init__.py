"""The third world: the real flows, attacked by a seed in virtual time."""

from dibs.testing.simulation.copies import play_copies
from dibs.testing.simulation.cron.story import play_cron
from dibs.testing.simulation.quorum.registers import play_registers
from dibs.testing.simulation.quorum.story import play_quorum
from dibs.testing.simulation.story import Verdicts, play

__all__ = ["Verdicts", "play", "play_copies", "play_cron", "play_quorum", "play_registers"]
