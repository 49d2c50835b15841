"""Runs the simulator on code with one planted bug: `python planted.py MODULE SEEDS`, the patch on standard input.

With `cron` after them, in worlds of nodes that run jobs; with `quorum`, in worlds of several servers; with `registers`,
in worlds of several servers that keep a sheet.

It is JSON, `{"patch": [[old, new], …], "weather": {…} or null, "first": 0}`: each old text stands exactly once in the
module's real source.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType


class Patched(SourceFileLoader):
    """Loads a module from its source, as patched."""

    patch: Sequence[tuple[str, str]] = ()

    def get_data(self, path: str) -> bytes:
        if not path.endswith(".py"):
            raise OSError("no bytecode: it was compiled from the unpatched source")
        source = super().get_data(path).decode()
        for old, new in self.patch:
            if source.count(old) != 1:
                raise SystemExit(f"{path} holds {old!r} {source.count(old)} times: mend the plant")
            source = source.replace(old, new)
        return source.encode()


class Finder(MetaPathFinder):
    """Finds the one module that is patched."""

    def __init__(self, module: str, patch: Sequence[tuple[str, str]]) -> None:
        self._module, self._patch = module, patch

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path) if fullname == self._module else None
        if spec is None or spec.origin is None:
            return None
        spec.loader = loader = Patched(fullname, spec.origin)
        loader.patch = self._patch
        return spec


def main(module: str, seeds: int, kind: str = "locks") -> None:
    sys.dont_write_bytecode = True
    plant = json.load(sys.stdin)
    sys.meta_path.insert(0, Finder(module, plant["patch"]))
    from dibs.testing.simulation import play, play_copies, play_cron, play_quorum, play_registers  # noqa: PLC0415 - only now, as patched
    from dibs.testing.simulation.weather import Weather  # noqa: PLC0415 - as above

    weather = Weather(**plant["weather"]) if plant["weather"] else None
    played = play_copies if module.endswith(".copies") else partial(play, weather=weather)
    if kind == "cron":
        played = partial(play_cron, weather=weather)
    if kind == "quorum":
        played = partial(play_quorum, weather=weather)
    if kind == "registers":
        played = partial(play_registers, weather=weather)
    for seed in range(plant.get("first", 0), seeds):
        if faults := played(seed).faults:
            print(f"{seed} {faults[0]}")
            return


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
