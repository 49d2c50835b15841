"""What is noted of a job for good, and under what it is found."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.model.record import (
    ACTS,
    RUNS,
    Act,
    Deed,
    Outcome,
    Record,
    Source,
    noted,
    of_acts,
    of_node,
    of_state,
    of_tick,
    records_of,
)
from dibs.model.sheet import Line
from tests.model.schedules import NOW

TIMES = st.floats(0.0, 4e9)
TEXTS = st.text(max_size=9)
RECORD: dict[str, st.SearchStrategy[Any]] = {
    "tick": TIMES,
    "outcome": st.sampled_from(get_args(Outcome)),
    "at": TIMES,
    "reason": TEXTS,
    "attempt": st.integers(1, 9),
    "source": st.sampled_from(get_args(Source)),
    "is_last": st.booleans(),
    "node": TEXTS,
    "fence": st.integers(0),
    "started_at": TIMES,
    "ended_at": TIMES,
    "version": st.integers(0),
    "result": st.none() | TEXTS,
    "error": st.none() | TEXTS,
    "progress": st.none() | st.floats(0.0, 1.0),
    "note": TEXTS,
    "log": st.lists(TEXTS, max_size=3).map(tuple),
    "since": st.none() | TIMES,
}
ACT: dict[str, st.SearchStrategy[Any]] = {
    "act": st.sampled_from(get_args(Deed)),
    "at": TIMES,
    "by": TEXTS,
    "reason": TEXTS,
    "until": st.none() | TIMES,
    "since": st.none() | TIMES,
    "tick": st.none() | TIMES,
    "version": st.integers(0),
    "told": TEXTS,
    "was": TEXTS,
}
TOLD = st.builds(Record, **RECORD) | st.builds(Act, **ACT)
NAMES = st.text("abc ~:-", min_size=1, max_size=9).map(str.strip).filter(lambda name: name and not name.startswith("~"))
"""Of jobs."""


class TestTexts:
    @given(told=TOLD)
    def test_it_comes_back_as_it_was(self, told: Record | Act) -> None:
        assert noted(told.text()) == told
        assert "\n" not in told.text()

    @pytest.mark.parametrize(("kind", "parts"), [(Record, RECORD), (Act, ACT)])
    def test_nothing_is_left_out_of_that(self, kind: Any, parts: dict[str, Any]) -> None:
        assert [field.name for field in fields(kind)] == list(parts)

    def test_what_is_as_usual_is_not_written(self) -> None:
        assert json.loads(Record(NOW, "missed", NOW).text()) == {"tick": NOW, "outcome": "missed", "at": NOW}
        assert json.loads(Act("paused", NOW, "ann").text()) == {"act": "paused", "at": NOW, "by": "ann"}

    def test_what_a_newer_version_says_beside_it_is_left_out(self) -> None:
        for told in (Record(NOW, "ok", NOW), Act("paused", NOW, "ann")):
            assert noted(json.dumps({**json.loads(told.text()), "mood": "fine"})) == told

    def test_what_tells_of_ticks_is_told_from_what_people_have_done(self) -> None:
        record = Record(NOW, "ok", NOW)
        lines = [Line("report", NOW, each.text()) for each in (record, Act("paused", NOW, "ann"))]
        assert records_of(lines) == [record]


class TestFigures:
    def test_it_is_late_by_when_it_was_begun_and_lasts_until_it_ended(self) -> None:
        record = Record(NOW, "ok", NOW + 3, started_at=NOW + 1, ended_at=NOW + 3)
        assert (record.lateness, record.duration) == (1.0, 2.0)

    def test_what_was_not_begun_is_neither_late_nor_long(self) -> None:
        record = Record(NOW, "missed", NOW + 5)
        assert (record.lateness, record.duration) == (0.0, 0.0)

    def test_by_a_clock_that_was_set_back_nothing_is_early(self) -> None:
        assert Record(NOW, "ok", NOW, started_at=NOW - 1, ended_at=NOW).lateness == 0.0


class TestEntries:
    def test_what_became_of_a_tick_is_dated_by_it(self) -> None:
        record = Record(NOW, "skipped", NOW + 5)
        entry = record.entry("report", "report")
        assert (entry.at, entry.text) == (NOW, record.text())
        assert entry.tags == (RUNS, of_state("skipped"), of_state("skipped", "report"))

    def test_what_was_run_is_found_by_its_node(self) -> None:
        ran = Record(NOW, "ok", NOW + 5, node="bob's", started_at=NOW, ended_at=NOW + 5)
        assert {of_node("bob's"), of_node("bob's", "ok")} < set(ran.entry("report", "report").tags)

    def test_a_backfill_s_is_dated_by_when_it_was_known_and_found_with_its_job_and_by_its_tick(self) -> None:
        entry = Record(NOW, "ok", NOW + 1e6, source="backfill").entry("report~backfill", "report")
        assert entry.at == NOW + 1e6
        assert {"report", of_tick("report", NOW), RUNS} <= set(entry.tags)

    def test_a_step_s_is_dated_by_when_it_was_known_and_found_with_its_job(self) -> None:
        entry = Record(NOW, "ok", NOW + 1e6, source="step").entry("charge~step:order-17", "charge")
        assert (entry.at, entry.tags) == (
            NOW + 1e6,
            (RUNS, of_state("ok"), of_state("ok", "charge"), "charge"),
        )

    def test_what_people_have_done_is_dated_by_when_they_did(self) -> None:
        act = Act("backfill", NOW, "ann")
        assert act.entry("report", "report").tags == (ACTS, of_acts("report"))
        beside = act.entry("report~backfill", "report")
        assert (beside.at, beside.text, beside.tags) == (NOW, act.text(), (ACTS, of_acts("report"), "report"))

    def test_a_tick_is_found_however_its_number_is_written(self) -> None:
        assert of_tick("report", int(NOW)) == of_tick("report", NOW)

    @given(told=TOLD, job=NAMES, other=NAMES)
    def test_under_no_tag_is_it_taken_for_another_job_s(self, told: Record | Act, job: str, other: str) -> None:
        for sheet in (job, f"{job}~backfill"):
            tags = told.entry(sheet, job).tags
            assert len(tags) == len(set(tags))
            assert [tag for tag in tags if not tag.startswith("~")] == ([] if sheet == job else [job])
            if other != job:
                assert not {of_state("ok", other), of_acts(other), of_tick(other, NOW), other} & set(tags)

    @given(one=NAMES, other=NAMES, node=NAMES)
    def test_no_index_is_another(self, one: str, other: str, node: str) -> None:
        names = {one, other}
        indexes = {RUNS, ACTS, of_state("ok"), of_state("failed"), of_node(node), of_node(node, "ok")}
        for name in names:
            indexes |= {of_state("ok", name), of_state("failed", name), of_acts(name), of_tick(name, NOW), name}
        assert len(indexes) == 6 + 5 * len(names)
