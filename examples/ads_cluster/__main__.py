"""Starts the primary and its workers: `python -m examples.ads_cluster`, from the root of the repository."""

from __future__ import annotations

import logging
import os
import sys

import dibs
from dibs.config import DEFAULT


def main() -> int:
    """The primary, until it is asked to end."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stdout, format="[Primary] %(message)s")
    try:
        return supervise()
    except dibs.ConfigError as fault:
        print(fault, file=sys.stderr)
        return 78


def supervise() -> int:
    """Start the workers, and see that they live."""
    from examples.ads_cluster.config import CLUSTER, HOST, PORT, WORKERS, d  # noqa: PLC0415 - it may refuse what was said

    os.environ["ADS_CLUSTER"] = CLUSTER
    if d.config.source("url") == DEFAULT:
        os.environ["DIBS_URL"] = d.config.url or ""  # the warning that it is embedded was just given, once for all
    print(f"Primary process {os.getpid()} is running\nStarting {WORKERS} worker processes...\n", flush=True)
    worker = "examples.ads_cluster.worker"
    return dibs.supervise(f"{worker}:d", workers=WORKERS, port=PORT, host=HOST, app=f"{worker}:app")


if __name__ == "__main__":
    sys.exit(main())
