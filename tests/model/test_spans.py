"""Spans of time are found by the moments they cover, and by few questions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.model.sheet import Question
from dibs.model.spans import LONGER, SIZES, covering, filed

A_DAY = 86_400.0
NOW = 1_800_000_000.0

moments = st.one_of(
    st.floats(0.0, 4e9),
    st.integers(0, 2**40).map(lambda ticks: ticks / 256),
    st.sampled_from(SIZES).flatmap(lambda size: st.integers(0, 1000).map(lambda cell: cell * size)),
)
lengths = st.one_of(
    st.just(0.0),
    st.floats(0.0, 10.0),
    st.floats(0.0, 2e9),
    st.sampled_from(SIZES).flatmap(lambda size: st.sampled_from([size, 2 * size, size * 0.999, size * 1.001])),
)
spans = st.tuples(moments, lengths).map(lambda span: (span[0], span[0] + span[1]))


def finds(question: Question, begin: float, end: float) -> bool:
    """Whether a store would give the entry of this span for an answer."""
    return question.tag == filed("~x:", begin, end) and question.since <= end <= question.until


@given(spans, st.floats(0.0, 1.0))
def test_a_span_is_found_once_by_every_moment_that_it_covers(span: tuple[float, float], part: float) -> None:
    begin, end = span
    within = min(max(begin + (end - begin) * part, begin), end)
    for moment in (begin, within, end):
        assert [finds(question, begin, end) for question in covering("~x:", moment)].count(True) == 1


@given(st.lists(spans, max_size=30), moments)
def test_what_is_found_and_has_begun_is_what_covers_the_moment(spans: list[tuple[float, float]], moment: float) -> None:
    found = [span for question in covering("~x:", moment) for span in spans if finds(question, *span)]
    assert sorted(span for span in found if span[0] <= moment) == sorted(
        (begin, end) for begin, end in spans if begin <= moment <= end
    )


@given(moments)
def test_one_moment_takes_few_questions(moment: float) -> None:
    tags = [question.tag for question in covering("~x:", moment)]
    assert len(tags) == len(set(tags)) == 29


@given(spans, moments)
def test_what_is_read_in_vain_is_near(span: tuple[float, float], moment: float) -> None:
    begin, end = span
    if any(finds(question, begin, end) for question in covering("~x:", moment)) and begin > moment:
        assert begin - moment < max(4 * (end - begin), 1.0) or filed("~x:", begin, end).endswith(LONGER)


@pytest.mark.parametrize(
    ("lasts", "tag"),
    [
        (0.0, "~x:1:1800000000"),
        (1.5, "~x:1:1800000000"),
        (2.5, "~x:4:450000000"),
        (30 * A_DAY, "~x:4194304:429"),
        (700 * A_DAY, "~x:67108864:26"),
        (3_000 * A_DAY, "~x:longer"),
    ],
)
def test_it_is_filed_by_its_length(lasts: float, tag: str) -> None:
    assert filed("~x:", NOW, NOW + lasts) == tag


def test_each_kind_of_span_has_tags_of_its_own() -> None:
    assert filed("~ran:", NOW, NOW) == "~ran:1:1800000000"
    assert all(question.tag.startswith("~ran:") for question in covering("~ran:", NOW))
