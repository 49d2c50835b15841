"""A test of the tests, for jobs: each of these bugs, planted in the real code, is found within 2,000 worlds."""

from __future__ import annotations

import pytest

from tests.simulation.plants import SEEDS, Plant

CRON_PLANTS = [
    Plant(
        "a run is begun before its claim is answered",
        "dibs.flows.shift",
        (
            (
                "        taken = await amend(self._world, self._desk, reading, steps, unless_due=FLEET)\n",
                (
                    "        for step in steps:\n"
                    "            self._took(Taken(step, 0, reading.asked_at, reading.look.now))\n"
                    "        taken = await amend(self._world, self._desk, reading, steps, unless_due=FLEET) and ()\n"
                ),
            ),
        ),
    ),
    Plant(
        "a tick is locked while it is run, and not dealt with",
        "dibs.model.rota",
        (("Step(replace(job, next_due=job.calendar.after(last)), records, through=last)", "Step(job, records)"),),
    ),
    Plant(
        "what is due is due by the node's clock",
        "dibs.flows.shift",
        (
            (
                "steps, room, now = list[Step](), self._crew.room(), reading.look.now",
                "steps, room, now = list[Step](), self._crew.room(), self._crew.wall()",
            ),
        ),
    ),
    Plant(
        "a claim is taken from whatever revision",
        "dibs.stores.memory.sheets",
        (("(found.revision if found else 0) != change.revision or not change", "not change"),),
    ),
    Plant(
        "a store that has forgotten is not told what was dealt with",
        "dibs.flows.shift",
        (("        await rewrite_all(self._world, self._desk, self._marks.names, self._reminded)\n", ""),),
        {"ttl": 1.0, "disasters": ["forget", "forget"]},
    ),
    Plant(
        "who could not remind the store does not try again",
        "dibs.flows.shift",
        (("        if not self._is_reminded:\n            await self._remind()\n", ""),),
        {"ttl": 0.5, "cut": 0.15, "disasters": ["forget", "forget", "forget"]},
    ),
    Plant(
        "what was begun of a run is not remembered, only its tick",
        "dibs.flows.shift",
        (("        self._marks.note_begun(mine.job, run)\n", ""),),
        {"ttl": 0.5, "disasters": ["forget", "forget", "forget"]},
    ),
    Plant(
        "a store that was started anew is claimed from at once",
        "dibs.flows.bearings",
        (("SETTLING = 3.0", "SETTLING = 0.0"),),
        {"ttl": 1.0, "disasters": ["forget", "forget"]},
        first=635,
    ),
    Plant(
        "a result is taken from whoever brings it",
        "dibs.model.job",
        (("if run.owner == owner), None)", "if run.owner == owner), next(iter(self.running), None))"),),
    ),
    Plant(
        "a claim that was not answered is not given back",
        "dibs.flows.doubts",
        (("dict.fromkeys(name for name, _ in self._claims.values())", "dict[str, None]()"),),
    ),
    Plant(
        "a claim's tenure counts from hearing the answer",
        "dibs.flows.shift",
        (
            (
                "job.terms, Tenure(job.terms.ttl, asked_at), begun_at=",
                "job.terms, Tenure(job.terms.ttl, self._world.now()), begun_at=",
            ),
        ),
        {"ttl": 1.0, "slow": 0.2},
    ),
    Plant(
        "a run's renewal counts from hearing the answer",
        "dibs.flows.charge",
        (
            (
                "or_longer(Tenure(mine.terms.ttl, taken.asked_at))",
                "or_longer(Tenure(mine.terms.ttl, self._world.now()))",
            ),
        ),
        {"ttl": 1.0, "slow": 0.2},
    ),
    Plant(
        "a run that ended while its renewal was under way is over",
        "dibs.flows.charge",
        (("if taken.step.job.run_of(mine.owner) is None:", "if mine.ending is not None:"),),
    ),
    Plant(
        "a run of a dead node is begun once more, whatever its job says",
        "dibs.model.rota",
        (("if run.attempt >= job.terms.max_attempts or job.unwanted(run):", "if job.unwanted(run):"),),
    ),
    Plant(
        "a tick that nobody was there for is not told",
        "dibs.model.rota",
        (('            records.append(Record(tick.tick, "missed", now, tick.missed, since=tick.since))\n', ""),),
    ),
    Plant(
        "a tick that was run without the store is run again with it",
        "dibs.model.reminders",
        (
            (
                "if run.has_tick and job.due_at(run.tick) <= now else adopted\n",
                "if False else adopted\n",
            ),
            (
                "    return Step(raised(job, job.version, max(ticks)), [*between, *new])\n",
                "    return Step(job, new)\n",
            ),
        ),
        first=1270,
    ),
]


@pytest.mark.thorough
@pytest.mark.parametrize("plant", CRON_PLANTS, ids=lambda plant: plant.idea.replace(" ", "-"))
def test_a_planted_bug_is_caught(plant: Plant) -> None:
    assert plant.is_caught("cron"), f"no world among {SEEDS} shows that {plant.idea}"
