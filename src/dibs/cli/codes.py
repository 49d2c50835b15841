"""How commands end, as sysexits.h has it where it has a word for it."""

from __future__ import annotations

from dibs.errors import ConfigError, DibsError, StoreUnreachable

UNREACHABLE, MISCONFIGURED, INTERRUPTED = 69, 78, 130


def exit_code(error: DibsError) -> int:
    """How a command ends that met this."""
    match error:
        case StoreUnreachable():
            return UNREACHABLE
        case ConfigError():
            return MISCONFIGURED
        case _:
            return 1
