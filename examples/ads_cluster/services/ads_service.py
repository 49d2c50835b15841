"""The value: made at most once a minute, read, and written."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import UTC, datetime
from typing import TypedDict

import dibs
from dibs.fenced import Fenced
from examples.ads_cluster.config import TTL, WAIT, WORKER, ads_lock, d, keys
from examples.ads_cluster.keys import ADS, WARMUP, KeysUnreachable

log = logging.getLogger("ads-cluster")

PAUSES = (0.0, 0.1, 0.2)
"""Before each of the three looks at the last warm-up, in seconds."""


class Ads(TypedDict):
    """What is kept at ADS_REDLOCK, as JSON."""

    id: str
    name: str
    time: str


async def validate_and_initialize_ads() -> Ads | None:
    """The value of this minute: as it is, if some worker has made it, and else made anew."""
    if await _is_warm_by_now():
        ads = await get_ads()
        log.info("%s is of this minute, using existing %s: %s", WARMUP, ADS, shown(ads))
        return ads
    outcome = await _warm_up()
    while isinstance(outcome, dibs.Skipped) and outcome.why == "busy":
        outcome = await _warm_up()
    if isinstance(outcome, dibs.Skipped):
        log.info("%s was initialized by another worker (%s)", ADS, outcome.holder)
    return await get_ads()


async def get_ads() -> Ads | None:
    """What is there now."""
    text = await keys.get(ADS)
    try:
        return None if text is None else _read(json.loads(text))
    except (ValueError, TypeError, KeyError):
        raise KeysUnreachable(f"{ADS} holds something else than id, name and time, as JSON") from None


async def update_ads(lease: Fenced, name: str) -> Ads:
    """Write a new value by the right of this lease; `StaleFence` if a later one has been used."""
    ads = _new(f"{name} by Worker {WORKER}")
    await keys.write(lease, json.dumps(ads, ensure_ascii=False), ads["name"])
    return ads


def shown(ads: Ads | None) -> str:
    """As it is logged."""
    return "null" if ads is None else f"{{ {', '.join(f'{name}: {value!r}' for name, value in ads.items())} }}"


@d.once(WARMUP, per="1m", ttl=TTL, wait=WAIT)
async def _warm_up() -> None:
    """Make the value, and note when: for one worker of all, once in a minute (of UTC, by the store's clock)."""
    async with ads_lock("Warm-up", wait=None) as lease:
        if _is_of_this_minute(await keys.get(WARMUP)):
            return  # whoever did it has died before it could say so
        is_new = await keys.get(ADS) is None
        why = f"{ADS} does not exist. Creating" if is_new else f"{WARMUP} is not of this minute. Setting"
        log.info("%s initial value...", why)
        ads = _new(f"Initial Worker {WORKER}")
        await keys.write(lease, json.dumps(ads), ads["name"], warmed_up=ads["time"])
    log.info("%s %s key: %s", "Created" if is_new else "Updated", ADS, shown(ads))
    log.info("Set %s to: %s", WARMUP, ads["time"])


async def _is_warm_by_now() -> bool:
    """Look a few times: another worker may be at it just now, or a look may fail."""
    for pause in PAUSES:
        await asyncio.sleep(pause)
        try:
            if _is_of_this_minute(await keys.get(WARMUP)):
                return True
        except KeysUnreachable as trouble:
            log.warning("Could not read %s: %s", WARMUP, trouble)
    return False


def _is_of_this_minute(said: str | None) -> bool:
    return said is not None and said[:16] == _stamp()[:16]


def _new(name: str) -> Ads:
    return {"id": f"worker-{WORKER}", "name": name, "time": _stamp()}


def _read(value: Ads) -> Ads:
    return {"id": value["id"], "name": value["name"], "time": value["time"]}


def _stamp() -> str:
    """Now, as in 2026-01-21T00:00:00.000Z."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
