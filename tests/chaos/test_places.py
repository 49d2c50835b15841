"""Places for the file: which are refused, with the fix, and which must work."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import dibs
from dibs import ConfigError, Dibs
from tests.chaos.cast import take_a_turn
from tests.chaos.stage import Stage
from tests.chaos.users import NOBODY, be_shut_out_for_a_while, try_as_an_ordinary_user


def owned(file: Path, mode: int) -> Path:
    """A store that was used before, with these permissions now."""
    with dibs.connect(f"sqlite:///{file}", quiet=True) as d:
        d.lock("a").acquire().release()
    if os.geteuid() == 0:
        os.chown(file, NOBODY, NOBODY)
        for left in file.parent.glob("*-wake"):
            left.rmdir()
    file.chmod(mode)
    return file


def test_a_folder_that_cannot_be_written_is_refused(home: Path, stage: Stage) -> None:
    home.chmod(0o500)
    program = stage.start(try_as_an_ordinary_user, f"sqlite:///{home}/locks.sqlite")
    [text] = program.hear("ConfigError")
    assert f"{home}/locks.sqlite" in text
    assert "cannot be written by this user" in text
    assert "make it writable" in text
    program.ends()


@pytest.mark.parametrize("mode", [0o400, 0o200, 0o000])
def test_a_file_that_cannot_be_read_and_written_is_refused(home: Path, stage: Stage, mode: int) -> None:
    file = owned(home / "locks.sqlite", mode)
    program = stage.start(try_as_an_ordinary_user, f"sqlite:///{file}")
    [text] = program.hear("ConfigError")
    assert str(file) in text
    assert "cannot be read and written by this user" in text
    assert "permissions" in text
    program.ends()


def test_a_file_that_others_could_read_is_made_private(home: Path, stage: Stage) -> None:
    file = owned(home / "locks.sqlite", 0o644)
    program = stage.start(try_as_an_ordinary_user, f"sqlite:///{file}")
    program.hear("in")
    program.ends()
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_folder_closed_to_us_before_the_first_use_is_told_until_it_is_open_again(home: Path, stage: Stage) -> None:
    program = stage.start(be_shut_out_for_a_while, f"sqlite:///{home}/locks.sqlite", str(home))
    [text] = program.hear("unreachable")
    assert f"{home}/locks.sqlite" in text
    assert "Permission denied" in text
    assert "check its folder" in text
    program.hear("out")
    program.ends()


def test_a_path_that_is_too_long_for_sockets_works_all_the_same(stage: Stage, tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 100) / ("y" * 100)
    folder.mkdir(parents=True)
    url = f"sqlite:///{folder}/locks.sqlite"
    with dibs.connect(url, quiet=True) as d:
        mine = d.lock("a", ttl=60).acquire()
        waiter = stage.start(take_a_turn, "blocking", url, "a", 60)
        waiter.hear("waits")
        mine.release()
        waiter.hear("in", within=10)  # by a hint, long before it would ask by itself
        waiter.tell("release")
        waiter.ends()
    assert not folder.joinpath("locks.sqlite-wake").exists()


@pytest.mark.parametrize("path", ["x" * 256, "/".join(["x" * 200] * 25)])
def test_a_path_that_is_too_long_for_a_file_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(ConfigError, match="File name too long") as refused:
        dibs.connect(f"sqlite:///{tmp_path}/{path}")
    assert path in str(refused.value)


def test_a_path_may_be_as_long_as_sqlite_takes_it_and_no_longer(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 200)
    folder /= "y" * (504 - len(str(folder / "y" / "locks.sqlite")) + 1)
    folder.mkdir(parents=True)
    with dibs.connect(f"sqlite:///{folder}/locks.sqlite", quiet=True) as d:
        d.lock("a").acquire().release()
    with pytest.raises(ConfigError, match="SQLite takes no path of more than 504 bytes; name a shorter one"):
        dibs.connect(f"sqlite:///{folder}/locks1.sqlite")


def test_names_may_hold_blanks_and_letters_of_all_kinds(stage: Stage, tmp_path: Path) -> None:
    folder = tmp_path / "Größe & Maß %20 + 猫"
    folder.mkdir()
    client = dibs.connect("sqlite:///" + str(folder / "my locks?.sqlite").replace("%", "%25").replace("?", "%3F"))
    with client as d, d.lock("a"):
        assert (folder / "my locks?.sqlite").exists()
        program = stage.start(take_a_turn, "blocking", d._engine.backend.server, "a", 30)
        program.hear("waits")  # as the store's address is shown, so it can be written


def test_a_relative_path_is_one_of_the_folder_we_are_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with dibs.connect("sqlite:///locks.sqlite", quiet=True) as d:
        monkeypatch.chdir("/")
        d.lock("a").acquire().release()
    assert (tmp_path / "locks.sqlite").exists()


def test_two_names_of_one_file_are_one_store(file: Path, d: Dibs) -> None:
    file.with_name("link.sqlite").symlink_to(file)
    with dibs.connect(f"sqlite:///{file.parent}/link.sqlite", quiet=True) as other, d.lock("a"):
        assert other.try_lock("a").acquire() is None
