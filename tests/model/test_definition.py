"""What is said of a schedule, and which of two definitions holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.model.control import Refused, paused, removed, without_next
from dibs.model.definition import (
    Definition,
    Deployment,
    added,
    changed,
    definition_of,
    deployment_of,
    enrolled,
    is_outdated,
    retired,
)
from dibs.model.job import Gone, Job, Pause, Run, Terms
from dibs.model.record import Act
from dibs.model.rota import Step
from tests.model.schedules import NOW, job, running, told, word


def said(rule: str = "every 60s", name: str = "report", **more: Any) -> Definition:
    return Definition(name, rule, more.pop("terms", Terms()), **more)


def deployed(*said: Definition, at: float = NOW - 600) -> Deployment:
    return Deployment(at, {each.name: each.digest for each in said})


def enrol(
    found: Job | None, definition: Definition, *live: Deployment, at: float = NOW - 600, now: float = NOW
) -> Step | None:
    """What a node of that deployment does about it, beside those that live."""
    return enrolled(found, definition, ours=deployed(definition, at=at), live=live, now=now, by="bob's")


def after(found: Job | None, definition: Definition, *live: Deployment, at: float = NOW - 600, now: float = NOW) -> Job:
    step = enrol(found, definition, *live, at=at, now=now)
    assert step is not None
    return step.job


def is_left_alone(found: Job, definition: Definition, *live: Deployment, at: float = NOW - 600) -> bool:
    return enrol(found, definition, *live, at=at) is None


class TestEnrolling:
    def test_a_new_job_starts_now(self) -> None:
        step = enrol(None, said(function="build", arguments="{}"))
        assert step is not None
        new = step.job
        assert (new.name, new.revision, new.version, new.next_due) == ("report", 0, 1, NOW + 60)
        assert (new.function, new.arguments, new.origin, new.defined_at) == ("build", "{}", "code", NOW - 600)
        assert step.acts == [Act("added", NOW, "bob's", version=1, told="every 60s")]

    def test_what_is_known_stays_as_it_is_also_if_it_is_behind(self) -> None:
        assert is_left_alone(replace(after(None, said()), next_due=NOW - 600), said())

    def test_other_terms_hold_at_once_and_change_no_tick(self) -> None:
        known = replace(after(None, said()), next_due=NOW - 600, runs=(running(),))
        step = enrol(known, said(terms=Terms(retries=3)))
        assert step is not None
        new = step.job
        assert (new.terms.retries, new.version, new.next_due, len(new.runs)) == (3, 1, NOW - 600, 1)
        assert [act.act for act in step.acts] == ["changed"]

    def test_another_rule_holds_from_now_on_as_a_new_version(self) -> None:
        known = replace(after(None, said()), next_due=NOW - 600, runs=(running(),))
        new = after(known, said("every 3600s"))
        assert (new.version, new.rule, new.next_due, len(new.runs)) == (2, "every 3600s", NOW + 3600, 1)

    def test_what_is_paused_stays_paused(self) -> None:
        held = paused(after(None, said()), word()).job
        new = after(held, said("every 3600s"))
        assert (new.pause, new.next_due, new.rule) == (held.pause, None, "every 3600s")

    def test_a_tick_that_was_left_out_is_no_tick_of_another_rule(self) -> None:
        left_out = paused(without_next(after(None, said("every 3600s")), word()).job, word()).job
        new = replace(after(left_out, said("every 60s")), pause=None)
        assert new.due_from(NOW) == NOW + 60

    def test_what_had_retired_is_there_again_from_now_on(self) -> None:
        gone = retired(after(None, said()), word(NOW - 60))
        assert gone is not None
        step = enrol(gone.job, said())
        assert step is not None
        assert (step.job.gone, step.job.next_due, step.job.version) == (None, NOW + 60, 3)
        assert [act.act for act in step.acts] == ["added"]

    def test_but_the_tick_that_was_left_out_is_still(self) -> None:
        gone = retired(without_next(after(None, said()), word()).job, word())
        assert gone is not None
        assert after(gone.job, said()).next_due == NOW + 120


class TestWhichHolds:
    def test_of_two_that_are_deployed_the_later_does(self) -> None:
        old, new = said("every 60s"), said("every 30s")
        known = after(None, new, at=NOW - 100)
        assert is_left_alone(known, old, deployed(old), deployed(new, at=NOW - 100))
        assert after(after(None, old), new, deployed(old), at=NOW - 100).rule == "every 30s"

    def test_who_is_left_alone_holds(self) -> None:
        assert after(after(None, said("every 30s")), said("every 60s"), at=NOW - 900).rule == "every 60s"

    def test_a_deployment_that_says_nothing_of_it_is_no_rival(self) -> None:
        other = deployed(said(name="other"), at=NOW)
        assert not is_outdated(job(), deployed(said()), [other])

    def test_what_was_said_as_data_since_then_stays(self) -> None:
        for known in (
            added(None, said("every 30s"), word()).job,
            changed(after(None, said()), said("every 30s"), word()).job,
        ):
            assert is_left_alone(known, said("every 60s"))
            assert is_left_alone(known, said("every 60s"), at=NOW)

    def test_until_code_says_something_new(self) -> None:
        by_hand = changed(after(None, said()), said("every 30s"), word()).job
        assert is_left_alone(by_hand, said(), at=NOW + 60), "it repeats what it said"
        new = after(by_hand, said("every 90s"), at=NOW + 60)
        assert (new.rule, new.origin, new.defined_at) == ("every 90s", "code", NOW + 60)

    def test_what_was_said_as_data_and_removed_does_not_keep_code_from_defining_it(self) -> None:
        gone = removed(added(None, said("every 30s"), word()).job, word()).job
        assert after(gone, said()).origin == "code"


RULES = ("every 60s", "every 30s", "every 90s")
TIMES = st.integers(0, 3)
"""Some are deployed at the same time."""


@given(
    times=st.tuples(TIMES, TIMES, TIMES),
    order=st.lists(st.integers(0, 2), max_size=12),
    last=st.permutations([0, 1, 2]),
)
def test_in_whatever_order_nodes_say_it_the_same_definition_holds_in_the_end(
    times: tuple[int, int, int], order: list[int], last: Sequence[int]
) -> None:
    definitions = [said(rule) for rule in RULES]
    live = [deployed(each, at=NOW - time) for each, time in zip(definitions, times, strict=True)]
    found: Job | None = None

    def tell(which: int) -> bool:
        nonlocal found
        step = enrolled(found, definitions[which], ours=live[which], live=live, now=NOW, by="bob's")
        found = found if step is None else step.job
        return step is not None

    for which in [*order, *last]:
        tell(which)
    winner = max(range(3), key=lambda which: (live[which].seen_at, live[which].digest))
    assert found is not None
    assert (found.rule, found.code) == (RULES[winner], definitions[winner].digest)
    assert not any(tell(which) for which in [*last, *order]), "it flaps"


class TestRetiring:
    def test_a_schedule_that_no_code_defines_any_more_is_run_no_more(self) -> None:
        step = retired(job(running(), Run(NOW), code="1"), word(reason="nobody defines it"))
        assert step is not None
        assert (step.job.gone, step.job.next_due, step.job.runs) == (Gone("retired", NOW), None, (running(),))
        assert told(step) == [(NOW, "cancelled", True)]
        assert step.records[0].reason == "its schedule was retired"
        assert step.acts == [Act("retired", NOW, "ann", "nobody defines it", version=2, told="every 60s")]

    def test_what_is_data_does_not_nor_does_what_is_gone(self) -> None:
        assert retired(job(origin="data"), word()) is None
        assert retired(job(code="1", gone=Gone("retired", NOW)), word()) is None

    def test_what_was_in_code_does_though_it_was_changed_as_data(self) -> None:
        assert retired(job(code="1", origin="data"), word()) is not None

    def test_what_was_added_anew_as_data_does_not(self) -> None:
        gone = job(code="1", gone=Gone("retired", NOW - 60))
        assert retired(added(gone, said(), word()).job, word()) is None


class TestData:
    def test_a_schedule_is_added(self) -> None:
        step = added(None, said(function="build", arguments="{}"), word(reason="a customer"))
        new = step.job
        assert (new.next_due, new.version, new.origin, new.defined_at) == (NOW + 60, 1, "data", NOW)
        assert (new.done_by, new.arguments, new.code) == ("build", "{}", "")
        assert step.acts == [Act("added", NOW, "ann", "a customer", version=1, told="every 60s")]

    def test_what_is_there_is_not_added_again(self) -> None:
        with pytest.raises(Refused, match="there is one of that name already: change it, or name this one otherwise"):
            added(job(), said(), word())

    def test_what_is_gone_is_and_is_not_paused_then(self) -> None:
        gone = removed(paused(job(running()), word()).job, word()).job
        new = added(gone, said("every 30s"), word()).job
        assert (new.gone, new.pause, new.next_due, new.revision) == (None, None, NOW + 30, 7)
        assert (new.version, new.runs) == (gone.version + 1, (running(),))

    def test_a_schedule_is_changed(self) -> None:
        step = changed(job(), said("every 30s"), word(reason="faster"))
        assert (step.job.next_due, step.job.version, step.job.origin) == (NOW + 30, 2, "data")
        assert step.acts == [Act("changed", NOW, "ann", "faster", version=2, told="every 30s", was="every 60s")]

    def test_other_arguments_change_no_tick(self) -> None:
        new = changed(job(next_due=NOW - 60), said(arguments="{}"), word()).job
        assert (new.next_due, new.version, new.arguments) == (NOW - 60, 1, "{}")

    def test_it_stays_paused_until_its_time_comes(self) -> None:
        held = paused(job(), word(), until=NOW + 600).job
        new = changed(held, said("every 90s"), word(NOW + 1)).job
        assert (new.pause, new.next_due) == (Pause("ann", NOW, until=NOW + 600), NOW + 630)

    def test_what_is_gone_is_not_changed(self) -> None:
        with pytest.raises(Refused, match="it was retired: add it anew"):
            changed(job(gone=Gone("retired", NOW)), said(), word())

    def test_what_holds_of_it_can_be_told(self) -> None:
        definition = said("every 30s", terms=Terms(labels=("gpu",)), function="build", arguments="{}")
        assert definition_of(added(None, definition, word()).job) == definition


class TestDigests:
    def test_each_part_of_a_definition_counts(self) -> None:
        others = (
            said("every 61s"),
            said(name="other"),
            said(terms=Terms(labels=("gpu",))),
            said(function="build"),
            said(arguments="{}"),
        )
        digests = {each.digest for each in (said(), *others)}
        assert len(digests) == len(others) + 1
        assert said().digest == said().digest

    def test_a_deployment_is_the_same_whenever_it_was_seen_and_in_whatever_order_it_was_told(self) -> None:
        one = Deployment(NOW, {"a": "1", "b": "2"})
        assert one.digest == Deployment(NOW + 9, {"b": "2", "a": "1"}).digest
        assert one.digest != replace(one, definitions={"a": "1"}).digest

    def test_a_deployment_comes_back_as_it_was(self) -> None:
        one = Deployment(NOW, {"a": "1", "b": "2"})
        again = deployment_of(json.loads(one.text()))
        assert (again, again.digest) == (one, one.digest)
