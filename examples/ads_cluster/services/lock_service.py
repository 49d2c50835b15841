"""Operations on the value, one at a time among all workers."""

from __future__ import annotations

import asyncio
import logging
from time import monotonic

import dibs
from examples.ads_cluster.config import DURATION, ads_lock
from examples.ads_cluster.services.ads_service import Ads, get_ads, shown, update_ads

log = logging.getLogger("ads-cluster")


async def perform_locked_operation(operation_name: str, duration: float = DURATION) -> Ads:
    """Work for so many milliseconds under the lock, and write a new value, which is returned.

    `LockBusy` if the lock is not had in time. `LeaseLost` or `StaleFence` if it was had and is not any more.
    """
    log.info("Attempting to acquire lock for: %s", operation_name)
    ads = None
    try:
        async with ads_lock(operation_name) as lease:
            log.info("✓ Lock acquired after %dms for: %s", lease.waited * 1000, operation_name)
            ads = await _operation(lease, operation_name, duration)
    except dibs.LockBusy as busy:
        log.warning("✗ Could not acquire lock after %dms for: %s", busy.waited * 1000, operation_name)
        raise
    except dibs.DibsError as trouble:
        if ads is None:
            raise
        log.warning("The lock went away after the update of: %s (%s)", operation_name, trouble)
        return ads
    log.info("✓ Lock released for: %s", operation_name)
    return ads


async def _operation(lease: dibs.Lease, name: str, duration: float) -> Ads:
    began = monotonic()
    log.info("Current ADS_REDLOCK value: %s", shown(await get_ads()))
    await asyncio.sleep(duration / 1000)  # in earnest: whatever makes the new value
    ads = await update_ads(lease, name)
    log.info("✓ Updated ADS_REDLOCK to: %s", shown(ads))
    log.info("Operation took %dms", (monotonic() - began) * 1000)
    return ads
