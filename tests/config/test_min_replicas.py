"""How many replicas are waited for: by whom it is said, and where there can be none."""

from __future__ import annotations

import pytest

import dibs
from dibs import ConfigError

URLS = ["redis://host", "rediss://host", "unix:///socket", "redis+sentinel://host/service"]


@pytest.mark.parametrize("url", URLS)
def test_a_url_may_say_it_and_counts_more_than_a_setting(url: str) -> None:
    assert "known to 2 of its replicas" in str(dibs.connect(url, min_replicas=2).guarantee)
    assert "known to 3 of its replicas" in str(dibs.connect(f"{url}?min_replicas=3", min_replicas=2).guarantee)
    assert "replicas" not in str(dibs.connect(f"{url}?min_replicas=0", min_replicas=2).guarantee)
    assert "known to 3 of" in str(dibs.connect(f"{url}?socket_timeout=1&min_replicas=3").guarantee)


def test_a_cluster_promises_what_its_replicas_can() -> None:
    guarantee = dibs.connect("redis+cluster://one,two").guarantee
    assert (guarantee.level, guarantee.across_machines) == ("best effort", True)
    assert "one:6379,two:6379" in guarantee.scope


def test_what_is_promised_depends_on_it() -> None:
    plain, seconded = (dibs.connect("redis+sentinel://host/service", min_replicas=count) for count in (0, 1))
    assert (plain.guarantee.level, seconded.guarantee.level) == ("best effort", "fenced")


@pytest.mark.parametrize("said", ["", "x", "-1", "1.5", "1&min_replicas=2"])
def test_nonsense_in_a_url_is_refused(said: str) -> None:
    with pytest.raises(ConfigError, match="give a whole number"):
        dibs.connect(f"redis://host?min_replicas={said}")


@pytest.mark.parametrize("url", ["memory://", "sqlite:///file"])
def test_a_store_without_replicas_refuses_it(url: str) -> None:
    with pytest.raises(ConfigError, match="has no replicas to wait for"):
        dibs.connect(url, min_replicas=1)
