"""How labels are said."""

from __future__ import annotations

import pytest

from dibs.model.labels import labels_of


@pytest.mark.parametrize(
    ("said", "labels"),
    [
        ("", ()),
        ("  ", ()),
        ((), ()),
        ("gpu", ("gpu",)),
        (" gpu , eu,gpu", ("eu", "gpu")),
        (["gpu", "eu", "gpu"], ("eu", "gpu")),
        ({"gpu"}, ("gpu",)),
    ],
)
def test_labels_are_kept_once_and_in_order(said: object, labels: tuple[str, ...]) -> None:
    assert labels_of(said) == labels


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("gpu,", "'' is no label: a label needs at least one character; say them as 'gpu,eu'"),
        (["a,b"], "'a,b' is no label: a label may hold no blanks and no commas"),
        ([" a"], "' a' is no label: a label may hold no blanks and no commas"),
        ("big gpu", "'big gpu' is no label: a label may hold no blanks and no commas"),
        (["a", 7], "7 is no label: a label is text, not int"),
        (7, "labels are text, not int"),
        (b"gpu", "labels are text, not bytes"),
        (None, "labels are text, not NoneType"),
    ],
)
def test_what_is_no_label_is_told_with_what_would_be(said: object, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        labels_of(said)
