"""A client whose one job tells that it has begun, and ends when it is let."""

from __future__ import annotations

import os
from pathlib import Path

import dibs

FOLDER = Path(os.environ["SHOP_FOLDER"])
d = dibs.connect(os.environ["SHOP_URL"], quiet=True)


@d.every("1s")
def work() -> str:
    """Both are pipes with names (see `Fifo`)."""
    (FOLDER / "begun").write_text("now")
    with (FOLDER / "go").open() as go:
        return go.readline()
