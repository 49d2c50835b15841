"""A test of the tests, for people and their deployments: each of these bugs is found within 2,000 worlds of jobs."""

from __future__ import annotations

import pytest

from tests.simulation.plants import SEEDS, Plant

PEOPLE_PLANTS = [
    Plant(
        "a claim that was under way when the fleet froze is taken",
        "dibs.stores.memory.sheets",
        (("if change.unless_due and self.acts_at.get(change.unless_due, inf) <= now:", "if False:"),),
        first=258,
    ),
    Plant(
        "what was due by the old rule is still due by the new one",
        "dibs.model.definition",
        (
            (
                "return replace(new, next_due=new.due_from(now))",
                "return replace(new, next_due=job.next_due or new.due_from(now))",
            ),
        ),
    ),
    Plant(
        "ticks of a pause are caught up with",
        "dibs.model.control",
        (
            (
                "return replace(told, next_due=told.due_from(now))",
                "return replace(told, next_due=told.due_from(job.pause.at if job.pause and not pause else now))",
            ),
        ),
    ),
    Plant(
        "a tick that was to be skipped is run, if there was a pause before it",
        "dibs.model.control",
        (("pause=pause, mark=job.marked(now))", "pause=pause)"), ("mark=following or job.mark)", "mark=job.mark)")),
        first=120,
    ),
    Plant(
        "what is asked for moves what is due",
        "dibs.model.control",
        (
            (
                "return Step(replace(job, runs=(*job.runs, run)), acts=[act])",
                "return Step(replace(job, runs=(*job.runs, run), next_due=job.calendar.after(tick)), acts=[act])",
            ),
        ),
    ),
    Plant(
        "what is asked for is done with the job's own arguments",
        "dibs.flows.shift",
        (("run.arguments or job.arguments", "job.arguments"),),
    ),
    Plant(
        "a backfill has as many runs at once as it likes",
        "dibs.model.job",
        (("len(self.runs) < self.backfill.parallel", "len(self.runs) < 9"),),
    ),
    Plant(
        "a backfill does not get on",
        "dibs.model.rota",
        (("runs=(*job.runs, run), next_due=job.following(through))", "runs=(*job.runs, run), next_due=through)"),),
    ),
    Plant(
        "a backfill goes on behind its last tick",
        "dibs.model.job",
        (("return None if is_over else following", "return following"),),
    ),
    Plant(
        "what a node knows of a backfill that the store forgot counts for the next one",
        "dibs.flows.marks",
        (("    return job.version, _begun_at(job)\n", "    return job.version, 0.0\n"),),
        {"ttl": 1.0, "disasters": ["forget", "forget"]},
        first=641,
    ),
    Plant(
        "of two definitions the one deployed first wins",
        "dibs.model.definition",
        (("(each.seen_at, each.digest) > (ours.seen_at, ours.digest)", "each.seen_at < ours.seen_at"),),
        first=200,
    ),
    Plant(
        "each of two definitions wins in turn",
        "dibs.model.definition",
        (("    return any((each.seen_at", "    return bool(rivals) and False and any((each.seen_at"),),
        first=75,
    ),
    Plant(
        "a schedule retires with the first of the deployments that define it",
        "dibs.flows.muster",
        (
            (
                "self.fleet.deployments[digest].definitions if name not in kept]",
                "self.fleet.deployments[digest].definitions]",
            ),
        ),
    ),
    Plant(
        "a schedule that no code defines any more goes on",
        "dibs.flows.muster",
        (("names = [name for name in self.fleet.deployments[digest].definitions if name not in kept]", "names = []"),),
    ),
    Plant(
        "what code says anew is not paused any more",
        "dibs.model.definition",
        (("arguments=said.arguments, gone=None)", "arguments=said.arguments, gone=None, pause=None)"),),
    ),
    Plant(
        "who runs a job without the store does not care whether it is paused",
        "dibs.flows.standin",
        (("known = self._known.get(duty.name)", "known = None"),),
        first=267,
    ),
    Plant(
        "who runs jobs without the store does not care whether all is frozen",
        "dibs.flows.standin",
        (("if self.freeze is not None and self.freeze.holds(now):", "if False:"),),
        first=922,
    ),
    Plant(
        "what somebody asks for leaves no line in the history",
        "dibs.flows.sheets",
        (
            (
                "act.entry(job.name, job.belongs_to) for act in step.acts)",
                "act.entry(job.name, job.belongs_to) for act in step.acts if act.act != 'triggered')",
            ),
        ),
    ),
    Plant(
        "a run is leased by a TTL that its node does not know of",
        "dibs.flows.charge",
        (("ttl=mine.terms.ttl, ", ""),),
        first=45,
    ),
]


@pytest.mark.thorough
@pytest.mark.parametrize("plant", PEOPLE_PLANTS, ids=lambda plant: plant.idea.replace(" ", "-"))
def test_a_planted_bug_is_caught(plant: Plant) -> None:
    assert plant.is_caught("cron"), f"no world among {SEEDS} shows that {plant.idea}"
