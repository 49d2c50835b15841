"""A test of the tests, for steps: each of these bugs is found within 2,000 worlds of jobs."""

from __future__ import annotations

import pytest

from tests.simulation.plants import SEEDS, Plant

STEP_PLANTS = [
    Plant(
        "a step is taken away from a node that has time left to stop it",
        "dibs.model.job",
        (("else run.started_at + timeout + LEEWAY", "else run.started_at + timeout / 2"),),
    ),
    Plant(
        "a step is thrown away as soon as it is over",
        "dibs.model.job",
        (("else self.gone.at + self.terms.keep_for", "else self.gone.at"),),
    ),
    Plant(
        "a step whose end was forgotten is neither to be done nor over",
        "dibs.model.reminders",
        (
            (
                'return concluded(Step(known, [recorded(run, "lost", now, FORGOTTEN)]), now)',
                'return Step(known, [recorded(run, "lost", now, FORGOTTEN)])',
            ),
        ),
        {"ttl": 0.5, "disasters": ["forget", "forget", "forget"]},
    ),
    Plant(
        "a step that failed once is over, and done again all the same",
        "dibs.model.rota",
        (('gone = job.gone if job.runs else Gone("ended", now)', 'gone = Gone("ended", now)'),),
    ),
]


@pytest.mark.thorough
@pytest.mark.parametrize("plant", STEP_PLANTS, ids=lambda plant: plant.idea.replace(" ", "-"))
def test_a_planted_bug_of_steps_is_caught(plant: Plant) -> None:
    assert plant.is_caught("cron"), f"no world among {SEEDS} shows that {plant.idea}"
