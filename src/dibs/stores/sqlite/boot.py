"""Which run of which clock we are on: lease times of another one mean nothing to us."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from dibs.errors import ConfigError

LINUX = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """The same for all processes that read the same boot clock, and for no others."""
    with suppress(OSError):
        boot, again = LINUX.read_text().strip(), LINUX.read_text().strip()
        if boot and boot == again:
            return f"{boot} {_time_namespace()}"
    if sys.platform == "darwin":
        return _sysctl(b"kern.bootsessionuuid")
    raise ConfigError("the embedded store cannot tell this machine's boots apart: use a Redis or Valkey, by DIBS_URL")


def _time_namespace() -> str:
    """A container may have a boot clock of its own."""
    with suppress(OSError):
        return str(Path("/proc/self/ns/time").readlink())
    return "time"


def _sysctl(name: bytes) -> str:
    import ctypes  # noqa: PLC0415 - needed on one platform only

    value = ctypes.create_string_buffer(64)
    size = ctypes.c_size_t(len(value))
    if ctypes.CDLL(None).sysctlbyname(name, value, ctypes.byref(size), None, 0) != 0:
        raise ConfigError(f"this machine does not tell its {name.decode()}: use a Redis or Valkey, by DIBS_URL")
    return value.value.decode()
