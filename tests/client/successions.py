"""How processes follow one another as leaders, on whatever store."""

from __future__ import annotations

import pytest

from dibs.runtime.clock import boottime
from tests.chaos.colours import BOTH
from tests.chaos.stage import Stage
from tests.client import candidates

TTL, LATE = 1.0, 1.0


class Successions:
    """Subclass it and give a `url` fixture."""

    @pytest.mark.parametrize("kind", BOTH)
    def test_a_killed_leader_is_followed_when_its_ttl_is_over(self, stage: Stage, url: str, kind: str) -> None:
        leader = stage.start(candidates.lead, kind, url, TTL)
        [fence, _] = leader.hear("leads")
        successor = stage.start(candidates.lead, kind, url, TTL)
        successor.hear("waits")
        died_at = boottime()
        leader.kill()
        [next_fence, led_at] = successor.hear("leads")
        assert led_at < died_at + TTL + LATE
        assert next_fence > fence
        successor.tell("go")
        successor.hear("left")
        successor.ends()

    @pytest.mark.parametrize("kind", BOTH)
    def test_when_leader_and_first_candidate_die_together_the_second_leads(
        self, stage: Stage, url: str, kind: str
    ) -> None:
        leader = stage.start(candidates.lead, kind, url, TTL)
        [fence, _] = leader.hear("leads")
        first, second = (stage.start(candidates.lead, kind, url, TTL) for _ in range(2))
        for candidate in (first, second):
            candidate.hear("waits")
        died_at = boottime()
        leader.kill()
        first.kill()
        [next_fence, led_at] = second.hear("leads")
        assert led_at < died_at + TTL + LATE
        assert next_fence > fence

    @pytest.mark.parametrize("kind", BOTH)
    def test_a_process_that_leaves_its_loop_is_followed_at_once(self, stage: Stage, url: str, kind: str) -> None:
        leader = stage.start(candidates.lead, kind, url, 60)
        [fence, _] = leader.hear("leads")
        successor = stage.start(candidates.lead, kind, url, 60)
        successor.hear("waits")
        leader.tell("go")
        leader.hear("left")
        [next_fence, _] = successor.hear("leads", within=10)
        assert next_fence > fence
        leader.ends()
        successor.tell("go")
        successor.hear("left")
        successor.ends()
