"""Many programs, in all colours, that want the same few locks at once."""

from __future__ import annotations

from pathlib import Path

from dibs import Dibs
from tests.chaos import workers
from tests.chaos.stage import Stage
from tests.chaos.workers import LOCKS, Account

PROGRAMS = 8
TURNS = 80


def test_eight_programs_exclude_one_another(stage: Stage, url: str, d: Dibs, tmp_path: Path) -> None:
    """Fences rise, no two are ever inside, and no update is lost."""
    programs = [
        stage.start(workers.work, number % len(workers.ALL), url, str(tmp_path), TURNS) for number in range(PROGRAMS)
    ]
    for program in programs:
        program.hear("ready")
    for program in programs:
        program.tell("go")
    for program in programs:
        program.hear("done", within=60)
        program.ends()
    accounts = [Account(str(tmp_path), f"lock {number}") for number in range(LOCKS)]
    assert sum(account.number() for account in accounts) == PROGRAMS * TURNS
    assert sum(account.accepted() for account in accounts) == PROGRAMS * TURNS
    assert not d.locks()


def test_many_programs_may_make_the_same_new_file_at_once(stage: Stage, tmp_path: Path) -> None:
    program = stage.start(workers.open_new_files_at_once, str(tmp_path), 5, 8)
    for _ in range(5):
        assert program.hear("opened") == [True]
    program.ends()
