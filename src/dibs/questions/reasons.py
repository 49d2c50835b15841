"""Why a tick did or did not run, as people are told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from dibs.model.fleet import FLEET
from dibs.questions.history import act_view, run_view
from dibs.questions.pages import shown

if TYPE_CHECKING:
    from dibs.model.facts import Answer, Verdict
    from dibs.questions.history import ActView, RunView

OF_THE_FLEET = frozenset({"frozen", "thawed", "silent", "unattended"})


@dataclass(frozen=True, slots=True)
class Why:
    """An answer from what was noted and nothing else; `str()` is the answer in a sentence or two. Times are in UTC."""

    job: str
    tick: datetime | None
    """The tick that is meant; `None` if there was none."""
    verdict: Verdict
    """In a word, such as "ran", "ran late", "paused", "frozen", "overlap", "no live node" or "unknown"."""
    words: str
    runs: tuple[RunView, ...]
    """What was noted of that tick."""
    acts: tuple[ActView, ...]
    """Who did what that explains it."""

    def __str__(self) -> str:
        return self.words


def why_view(job: str, answer: Answer) -> Why:
    """An answer as it is shown."""
    runs = tuple(run_view(job, record) for record in answer.records)
    acts = tuple(act_view(FLEET if act.act in OF_THE_FLEET else job, act) for act in answer.acts)
    return Why(job, shown(answer.tick), answer.verdict, answer.words, runs, acts)
