"""Which names may be used, and what is said of the others."""

from __future__ import annotations

import pytest

from dibs.model.names import LONGEST, SIDES, is_tagged, job_fault, lock_fault, name_fault, namespace_fault, text_fault


@pytest.mark.parametrize("name", ["a", "nightly report", "a:b/c{d}", "日本", "x" * LONGEST, "é" * (LONGEST // 2)])
def test_a_lock_may_have_any_printable_name(name: str) -> None:
    assert name_fault(name) is None


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "a lock's name needs at least one character"),
        (" a", "a lock's name may not begin or end with a blank"),
        ("a ", "a lock's name may not begin or end with a blank"),
        (" ", "a lock's name may not begin or end with a blank"),
        ("a\n", "a lock's name may not begin or end with a blank"),
        ("x" * 201, "a lock's name may have at most 200 bytes (this one has 201)"),
        ("é" * 101, "a lock's name may have at most 200 bytes (this one has 202)"),
        ("a\nb", "a lock's name may hold no control or invisible characters"),
        ("a\x00b", "a lock's name may hold no control or invisible characters"),
        ("a\u200bb", "a lock's name may hold no control or invisible characters"),
        ("a\ud800", "a lock's name must be encodable as UTF-8 (it holds half of a surrogate pair)"),
        (b"a", "a lock's name is text, not bytes"),
        (7, "a lock's name is text, not int"),
        (None, "a lock's name is text, not NoneType"),
    ],
)
def test_a_name_that_cannot_be_used_is_told_why(name: object, fault: str) -> None:
    assert name_fault(name) == fault


def test_a_fault_names_what_it_is_about() -> None:
    assert name_fault("", what="a job's name") == "a job's name needs at least one character"
    assert text_fault(5, what="a purpose") == "a purpose is text, not int"


@pytest.mark.parametrize("namespace", ["", "shop", "shop.eu-1"])
def test_a_namespace_may_be_empty(namespace: str) -> None:
    assert namespace_fault(namespace) is None


@pytest.mark.parametrize("namespace", ["a:b", "{a", "a}", ":"])
def test_a_namespace_holds_none_of_the_marks_of_a_key(namespace: str) -> None:
    assert namespace_fault(namespace) == (
        "a namespace may hold no ':', '{' or '}' (they mark where a key's parts begin)"
    )


@pytest.mark.parametrize(
    ("namespace", "fault"),
    [
        (" a", "a namespace may not begin or end with a blank"),
        (5, "a namespace is text, not int"),
        ("x" * 201, "a namespace may have at most 200 bytes (this one has 201)"),
    ],
)
def test_a_namespace_is_a_name_otherwise(namespace: object, fault: str) -> None:
    assert namespace_fault(namespace) == fault


def test_a_text_may_be_empty_and_may_end_in_a_blank() -> None:
    assert text_fault("", what="a purpose") is None
    assert text_fault(" nightly ", what="a purpose") is None


@pytest.mark.parametrize("name", ["a", "a~b", "~", "line", "a{b}c", "{a}", "a{b", "{{a}", "a{b}c}d"])
def test_a_lock_may_be_called_this_on_every_store(name: str) -> None:
    assert lock_fault(name) is None


@pytest.mark.parametrize("side", SIDES)
def test_what_is_kept_beside_a_lock_has_its_own_names(side: str) -> None:
    assert lock_fault(f"a~{side}") == (
        f"a lock's name may not end in '~{side}' (so end the names of what is kept beside it)"
    )


@pytest.mark.parametrize("name", ["a}b", "}", "a{}b", "a{}{b}"])
def test_a_brace_that_ends_no_tag_would_tear_a_locks_keys_apart(name: str) -> None:
    assert lock_fault(name) == (
        "a '}' in a lock's name must end a {tag} (or its keys would be in several slots of a cluster)"
    )


def test_what_no_name_may_be_no_lock_may_be_called() -> None:
    assert lock_fault("") == "a lock's name needs at least one character"
    assert lock_fault(7) == "a lock's name is text, not int"


@pytest.mark.parametrize(
    ("key", "tagged"), [("a", False), ("a{b}", True), ("a{}b", False), ("}{a}", True), ("{a", False)]
)
def test_a_key_says_by_a_tag_which_slot_it_belongs_to(key: str, tagged: bool) -> None:
    assert is_tagged(key) is tagged


def test_a_jobs_name_is_a_locks_but_for_what_a_fleet_keeps_of_itself() -> None:
    assert job_fault("nightly") is None
    assert job_fault("a~b") is None
    assert (
        job_fault("~fleet")
        == "a job's name may not begin with '~' (so begin the names of what a fleet keeps of itself)"
    )
    assert str(job_fault("~", what="a schedule's name")).startswith("a schedule's name may not begin with '~'")
    assert job_fault("a~backfill") == (
        "a job's name may not end in '~backfill' (so end the names of what is kept beside it)"
    )
    assert job_fault("a~step:b") == "a job's name may not hold '~step:' (so are its steps told apart)"
    assert job_fault(7) == "a job's name is text, not int"
