"""What is known of a holder that was killed."""

from __future__ import annotations

from datetime import timedelta

import pytest

import dibs
from dibs import Dibs
from tests.chaos.recollections import hold_until_killed
from tests.chaos.stage import Actor, Stage
from tests.servers.fixtures import there
from tests.servers.kinds import VALKEY_9, Kind

TTL = 1.0


@pytest.fixture
def server_kind() -> Kind:
    """One is enough."""
    return there(VALKEY_9)


def is_last_seen(d: Dibs, holder: Actor) -> None:
    [fence] = holder.hear("noted")
    holder.kill()
    with d.lock("billing", wait=20):
        pass
    theirs = [each for each in d.lock_history("billing") if each.fence == fence]
    [seen] = theirs
    assert (seen.ended, seen.until, seen.purpose) == ("unknown", None, "the nightly run")
    assert seen.who.endswith(f":{holder.pid}")
    assert seen.seen_at >= seen.since + timedelta(seconds=0.2)
    assert d.held_at(seen.seen_at, "billing") == d.held_at(seen.since) == theirs
    assert f"was last seen holding it at {seen.seen_at:%Y-%m-%d %H:%M:%S} UTC" in str(seen)


def test_a_holder_that_was_killed_was_last_seen_holding_it(stage: Stage, d: Dibs, url: str) -> None:
    is_last_seen(d, stage.start(hold_until_killed, url, "billing", TTL))


def test_and_so_it_was_on_a_server(stage: Stage, server_url: str) -> None:
    with dibs.connect(server_url, quiet=True) as d:
        is_last_seen(d, stage.start(hold_until_killed, server_url, "billing", TTL))
