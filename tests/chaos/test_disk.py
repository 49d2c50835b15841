"""Disks that are full or read-only, and files that are damaged, deleted or replaced while they are in use."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dibs
from dibs import ConfigError, Dibs, LeaseLost, StoreUnreachable
from dibs.runtime.clock import boottime
from tests.chaos.cast import fail_to_take, hold_until_lost, take_a_turn
from tests.chaos.colours import BOTH, colour
from tests.chaos.disks import full, make_read_only, small_disk
from tests.chaos.losses import Loss
from tests.chaos.moments import LONG, so
from tests.chaos.stage import Stage

TTL = 2.0
"""A tenth of it is the time that a holder has to be told of a loss: enough for a loaded machine."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk


def connected(file: Path) -> Dibs:
    return dibs.connect(f"sqlite:///{file}", quiet=True)


def unreachable(d: Dibs, within: float = 5.0) -> str:
    """What is said once the store cannot be used; a few more turns may still fit in."""
    give_up_at = boottime() + within
    with pytest.raises(StoreUnreachable) as unknown:
        while boottime() < give_up_at:
            d.lock("b", wait=0.2).acquire().release()
    return str(unknown.value)


def is_sound(file: Path) -> bool:
    db = sqlite3.connect(file)
    try:
        return db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        db.close()


def test_a_full_disk_is_told_and_costs_nothing_but_leases(disk: Path) -> None:
    file, loss = disk / "locks.sqlite", Loss()
    with connected(file) as d:
        lease = d.lock("a", ttl=TTL, on_lost=loss).acquire()
        with full(disk):
            text = unreachable(d)
            assert str(file) in text
            assert "the disk is full" in text
            assert "free some space" in text
            assert "ran out" in loss.reason(lease)
        again = d.lock("a", wait=10).acquire()
        assert again.fence > lease.fence
        again.release()
        assert so(lambda: not d.locks()).wait(LONG), (
            "what could not be given back on a full disk is, once there is space"
        )
    assert is_sound(file)


def test_a_store_cannot_be_made_on_a_full_disk_and_can_be_when_there_is_space(disk: Path) -> None:
    file = disk / "locks.sqlite"
    with connected(file) as d:
        with full(disk):
            text = unreachable(d)
            assert str(file) in text
        d.lock("a", wait=10).acquire().release()
    assert is_sound(file)


def test_a_read_only_disk_is_refused_at_once(disk: Path) -> None:
    make_read_only(disk)
    with pytest.raises(ConfigError) as refused:
        connected(disk / "locks.sqlite")
    assert str(disk) in str(refused.value)
    assert "cannot be written" in str(refused.value)
    assert "DIBS_URL" in str(refused.value)


def test_a_disk_made_read_only_before_the_first_use_is_told(disk: Path) -> None:
    with connected(disk / "locks.sqlite") as d:
        make_read_only(disk)
        text = unreachable(d)
    assert str(disk / "locks.sqlite") in text
    assert "Read-only file system" in text


DAMAGE: dict[str, Callable[[Path], object]] = {
    "garbage for a header": lambda file: _write(file, 0, 100),
    "garbage from the second page on": lambda file: _write(file, 1024, file.stat().st_size - 1024),
    "garbage in the middle": lambda file: _write(file, 3072, file.stat().st_size - 5120),
    "only half of it": lambda file: os.truncate(file, file.stat().st_size // 2),
    "less than a header": lambda file: os.truncate(file, 50),
}


def _write(file: Path, at: int, size: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(at)
        opened.write(b"\xa5" * size)


@pytest.fixture
def used(file: Path) -> Path:
    """A file with many locks in it, that nobody has open."""
    with connected(file) as d:
        leases = [d.lock(f"lock {number}", ttl=600).acquire() for number in range(60)]
    assert all(lease.lost for lease in leases)
    return file


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_told_and_what_to_do_about_it(
    used: Path, damage: Callable[[Path], object], kind: str
) -> None:
    me = colour(kind)

    async def scene() -> None:
        with connected(used) as d:
            damage(used)
            for number in (1, 30, 58):
                with pytest.raises(StoreUnreachable) as unknown:
                    await me.take(d.lock(f"lock {number}", wait=0.1))
                assert str(used) in str(unknown.value)
                assert "damaged" in str(unknown.value)
                assert "move it away" in str(unknown.value)

    me.play(scene())


def test_a_damaged_file_may_be_moved_away_while_programs_run(used: Path) -> None:
    with connected(used) as d:
        DAMAGE["garbage from the second page on"](used)
        unreachable(d)
        used.rename(used.with_suffix(".damaged"))
        d.lock("lock 1", wait=10).acquire().release()
    assert is_sound(used)


def test_a_file_damaged_while_it_is_in_use_lets_nobody_else_in(stage: Stage, file: Path, url: str) -> None:
    """All of it, and of what was not yet written to it, as a failing disk might do."""
    with connected(file) as d:
        lease = d.lock("a", ttl=TTL).acquire()
        for part in (file, Path(f"{file}-wal")):
            _write(part, 0, part.stat().st_size)
        newcomer = stage.start(fail_to_take, url, "a", 2 * TTL)
        [text, _] = newcomer.hear("ConfigError")
        assert str(file) in text
        assert "move it away" in text
        newcomer.ends()
        lease.ensure()  # it renews what it has in memory


def lose_file_and_log(file: Path) -> None:
    for part in ("", "-wal", "-shm"):
        Path(f"{file}{part}").unlink()


def lose_folder(file: Path) -> None:
    shutil.rmtree(file.parent)
    file.parent.mkdir()


def move_folder(file: Path) -> None:
    file.parent.rename(file.parents[1] / "away")
    file.parent.mkdir()


LOSSES: dict[str, Callable[[Path], None]] = {
    "the file": Path.unlink,
    "the file and its log": lose_file_and_log,
    "its folder": lose_folder,
    "its folder, moved away": move_folder,
}


@pytest.mark.parametrize("lose", LOSSES.values(), ids=LOSSES)
def test_programs_meet_again_in_a_new_file_when_the_old_one_was_deleted(
    stage: Stage, tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    """A lease in it is lost at its next renewal."""
    file = tmp_path / "folder" / "locks.sqlite"
    file.parent.mkdir()
    with connected(file) as d:
        d.lock("warm").acquire().release()
        holder = stage.start(hold_until_lost, f"sqlite:///{file}", "a", TTL)
        [fence] = holder.hear("in")
        lose(file)
        deleted_at = boottime()
        [reason, lost_at] = holder.hear("lost")
        assert lost_at < deleted_at + TTL
        assert "no longer knows it" in reason or "ran out" in reason
        lease = d.lock("a", wait=10).acquire()
        assert lease.fence > fence
        holder.tell("again")
        holder.hear("waits")
        lease.release()
        [again, _] = holder.hear("in")
        assert again > lease.fence
        holder.ends()
        assert not d.locks()
    assert is_sound(file)


def test_programs_meet_again_when_the_log_beside_the_file_was_deleted(stage: Stage, file: Path, url: str) -> None:
    """SQLite keeps what is new in a log: whoever comes after it was deleted finds an older store."""
    loss = Loss()
    with connected(file) as d:
        lease = d.lock("a", ttl=TTL, on_lost=loss).acquire()
        for part in ("-wal", "-shm"):
            Path(f"{file}{part}").unlink()
        newcomer = stage.start(take_a_turn, "blocking", url, "a", 30)
        newcomer.hear("in")
        loss.reason(lease, within=2 * TTL)


def test_a_file_that_was_replaced_is_not_written_to_any_more(
    stage: Stage, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dibs.stores.sqlite.database.LOOK_EVERY", 0.0)
    with connected(file) as d, connected(tmp_path / "other.sqlite") as other:
        first = d.lock("a").acquire()
        other.lock("x").acquire().release()
        other.close()
        lose_file_and_log(file)
        (tmp_path / "other.sqlite").replace(file)
        with pytest.raises(LeaseLost, match="no longer knows it"):
            first.release()
        lease = d.lock("a", wait=10).acquire()
        assert lease.fence > first.fence
        newcomer = stage.start(take_a_turn, "blocking", f"sqlite:///{file}", "a", 30)
        newcomer.hear("waits")  # it looks at the same file
        lease.release()
        newcomer.hear("in")
        newcomer.tell("release")
        newcomer.ends()


def test_a_folder_that_is_gone_is_told_until_it_is_back(tmp_path: Path) -> None:
    file, loss = tmp_path / "folder" / "locks.sqlite", Loss()
    file.parent.mkdir()
    with connected(file) as d:
        lease = d.lock("a", ttl=TTL, on_lost=loss).acquire()
        shutil.rmtree(file.parent)
        text = unreachable(d)
        assert str(file) in text
        assert "No such file or directory" in text
        assert "check its folder" in text
        loss.reason(lease)
        file.parent.mkdir()
        again = d.lock("a", wait=10).acquire()
        assert again.fence > lease.fence
        again.release()
