"""No store is named: the user's own is taken, and said to be."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.chaos.stage import Stage
from tests.chaos.users import NOBODY, NOT_IN_ANY_LIST, hold_what_nobody_named, name_no_store, try_what_nobody_named

OURS = {"HOME", "XDG_STATE_HOME", "DIBS_URL", "DIBS_REQUIRE_SHARED"}


def environment(**ours: str | Path) -> Mapping[str, str]:
    return {name: value for name, value in os.environ.items() if name not in OURS} | {
        name: str(value) for name, value in ours.items()
    }


def test_the_choice_is_told_once_with_path_and_scope(home: Path, stage: Stage) -> None:
    program = stage.start(name_no_store, NOBODY, env=environment(HOME=home))
    [level, line] = program.hear("log")
    assert level == "WARNING"
    assert f"sqlite:///{home}/.local/state/dibs/dibs.sqlite" in line
    assert "only programs of this user on this machine" in line
    assert "DIBS_URL" in line
    program.hear("in")  # and no word of the second client
    assert program.hear("server") == [f"sqlite:///{home}/.local/state/dibs/dibs.sqlite"]
    program.ends()


def test_file_and_folder_are_the_user_s_alone(home: Path, stage: Stage) -> None:
    program = stage.start(name_no_store, NOBODY, env=environment(HOME=home))
    program.hear("log")
    [modes] = program.hear("in")
    assert modes.pop("dibs") == "0o700"
    assert modes.pop("dibs.sqlite-wake", "0o700") == "0o700"
    assert modes == {"dibs.sqlite": "0o600", "dibs.sqlite-wal": "0o600", "dibs.sqlite-shm": "0o600"}
    program.hear("server")
    program.ends()


def test_all_programs_of_a_user_share_it(home: Path, stage: Stage) -> None:
    holder = stage.start(hold_what_nobody_named, env=environment(HOME=home))
    holder.hear("in")
    other = stage.start(try_what_nobody_named, env=environment(HOME=home))
    assert other.hear("tried") == [False]
    other.ends()
    holder.tell("release")
    holder.ends()


def test_the_state_folder_may_be_elsewhere(home: Path, stage: Stage) -> None:
    env = environment(HOME="/nonexistent", XDG_STATE_HOME=home / "state")
    program = stage.start(name_no_store, NOBODY, env=env)
    program.hear("log")
    program.hear("in")
    assert program.hear("server") == [f"sqlite:///{home}/state/dibs/dibs.sqlite"]
    program.ends()


def test_a_state_folder_that_is_no_full_path_is_not_used(home: Path, stage: Stage) -> None:
    program = stage.start(name_no_store, NOBODY, env=environment(HOME=home, XDG_STATE_HOME="state"))
    [_, line] = program.hear("log")
    assert f"{home}/.local/state/dibs" in line
    program.ends()


@pytest.mark.parametrize("wish", ["1", "true"])
def test_it_is_refused_where_a_shared_store_is_required(home: Path, stage: Stage, wish: str) -> None:
    program = stage.start(name_no_store, NOBODY, env=environment(HOME=home, DIBS_REQUIRE_SHARED=wish))
    [text] = program.hear("ConfigError")
    assert f"{home}/.local/state/dibs/dibs.sqlite" in text
    assert "DIBS_REQUIRE_SHARED" in text
    assert "DIBS_URL" in text
    program.ends()
    assert not list(home.iterdir())


def test_a_home_that_cannot_be_written_is_refused(home: Path, stage: Stage) -> None:
    home.chmod(0o555)
    program = stage.start(name_no_store, NOBODY, env=environment(HOME=home))
    [text] = program.hear("ConfigError")
    assert f"{home}/.local/state/dibs/dibs.sqlite" in text
    assert "cannot be written by this user" in text
    assert "DIBS_URL" in text
    program.ends()


def test_a_user_without_a_home_is_told_what_to_set(stage: Stage) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become a user that is in no list")
    program = stage.start(name_no_store, NOT_IN_ANY_LIST, env=environment())
    [text] = program.hear("ConfigError")
    assert "HOME" in text
    assert "DIBS_URL" in text
    program.ends()
