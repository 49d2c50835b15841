"""How a job is read from its sheet; or why it cannot be, if a newer dibs has written it, or another hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dibs.model.job import FORMAT, Backfill, Gone, Job, Pause, Run, Terms
from dibs.model.record import Record
from dibs.model.spare import known, sound

if TYPE_CHECKING:
    from dibs.model.sheet import Sheet


def job_of(sheet: Sheet) -> Job:
    """The job that is on this sheet; a `ValueError` says why it cannot be read here."""
    try:
        return _job_of(sheet)
    except (AttributeError, KeyError, RecursionError, TypeError) as fault:  # by a newer dibs, or another hand
        raise ValueError(f"the sheet of {sheet.name!r} is none of a job: {fault!r}") from None


def _job_of(sheet: Sheet) -> Job:
    told = json.loads(sheet.text)
    if told["format"] != FORMAT:
        raise ValueError(f"the sheet of {sheet.name!r} is of format {told['format']}; upgrade dibs here and restart")
    del told["format"]
    parts = {name: sound(kind(**told.pop(name))) for name, kind in KINDS.items() if name in told}
    runs = tuple(_with_fence(sound(Run(**run)), sheet.revision) for run in told.pop("runs", ()))
    return sound(Job(sheet.name, sheet.revision, next_due=told.pop("due"), runs=runs, **parts, **told))


def _terms(labels: Sequence[str] = (), **told: Any) -> Terms:
    """JSON knows no tuples."""
    return Terms(labels=tuple(labels), **told)


def _last(**told: Any) -> Record:
    return Record(**known(Record, told))


KINDS: Mapping[str, Callable[..., Any]] = {
    "terms": _terms,
    "pause": Pause,
    "backfill": Backfill,
    "gone": Gone,
    "last": _last,
}
"""What its parts are."""


def _with_fence(run: Run, revision: int) -> Run:
    return replace(run, fence=revision) if run.is_running and not run.fence else run
