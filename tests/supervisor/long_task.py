"""The same as `long_work` as a task, which is cut off at once when it is to hurry; served by its application itself."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import dibs
import dibs.web

FOLDER = Path(os.environ["SHOP_FOLDER"])
d = dibs.connect(os.environ["SHOP_URL"], quiet=True)


@d.every("1s")
async def work() -> str:
    """Both are pipes with names (see `Fifo`)."""
    (FOLDER / "begun").write_text("now")
    go, came, loop = os.open(FOLDER / "go", os.O_RDONLY | os.O_NONBLOCK), asyncio.Event(), asyncio.get_running_loop()
    loop.add_reader(go, came.set)
    try:
        await came.wait()
        return os.read(go, 100).decode()
    finally:
        loop.remove_reader(go)
        os.close(go)


app = dibs.web.app(d, lifespan=d.lifespan)
