"""Where the file is: URLs, the default, and the places that are refused."""

from __future__ import annotations

import os
import socket
import sqlite3
from pathlib import Path

import pytest

import dibs
from dibs import ConfigError
from dibs.stores.mounts import file_system
from dibs.stores.sqlite.location import Location, default_location, location, refuse_unfit

ROOT = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw"


def refused(place: Location | Path) -> str:
    with pytest.raises(ConfigError) as told:
        refuse_unfit(place if isinstance(place, Location) else Location(place))
    return str(told.value)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:////var/lib/locks.sqlite", "/var/lib/locks.sqlite"),
        ("SQLITE:////var/lib/locks.sqlite", "/var/lib/locks.sqlite"),
        ("sqlite:////var/my%20locks%3F.sqlite", "/var/my locks?.sqlite"),
        ("sqlite:////var/100%25", "/var/100%"),
        ("sqlite:////var/Größe", "/var/Größe"),
        ("sqlite:////var/Gr%C3%B6%C3%9Fe", "/var/Größe"),
    ],
)
def test_a_url_names_a_file(url: str, path: str) -> None:
    assert location(url) == Location(Path(path))


def test_a_relative_path_is_made_a_full_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert location("sqlite:///var/locks.sqlite").path == tmp_path / "var/locks.sqlite"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("sqlite:///", "names no file"),
        ("sqlite://locks.sqlite", "names no file"),
        ("sqlite://host/locks.sqlite", "names no file"),
        ("sqlite://user:secret@host/locks.sqlite", "names no file"),
        ("sqlite:///locks.sqlite?mode=ro", "no options"),
        ("sqlite:///locks.sqlite#here", "no options"),
        ("sqlite:///:memory:", "memory://"),
        ("sqlite:///a%00b", "control characters"),
        ("sqlite:///a%0Ab", "control characters"),
        ("sqlite:/locks.sqlite", "URL"),
        ("sqlite", "URL"),
    ],
)
def test_a_url_that_names_no_file_is_refused_with_what_would_be_right(url: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told) as refused:
        dibs.connect(url)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("path", ["/var/lib/locks.sqlite", "/var/my locks?#%.sqlite", "/var/Größe", "/var/猫"])
def test_a_location_can_be_written_as_it_is_shown(path: str) -> None:
    shown = Location(Path(path)).url
    assert shown.isascii()
    assert location(shown).path == Path(path)


def test_a_path_in_no_known_encoding_can_be_shown_and_used(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    shown = Location(folder / "locks.sqlite").url
    assert shown.endswith("/caf%E9/locks.sqlite")
    with dibs.connect(shown, quiet=True) as d, d.lock("a"):
        assert (folder / "locks.sqlite").exists()


def test_the_default_is_in_the_user_s_state_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("HOME", "/nowhere/me")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert default_location() == Location(Path("/nowhere/me/.local/state/dibs/dibs.sqlite"), is_ours=True)
    assert location("sqlite://") == default_location()
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert default_location().path == Path("/state/dibs/dibs.sqlite")
    monkeypatch.setenv("XDG_STATE_HOME", "not/a/full/path")
    assert default_location().path == Path("/nowhere/me/.local/state/dibs/dibs.sqlite")
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.delenv("XDG_STATE_HOME")
    assert default_location().path == Path("/nowhere/me/Library/Application Support/dibs/dibs.sqlite")


def test_a_new_file_in_a_folder_of_ours_is_well(tmp_path: Path) -> None:
    refuse_unfit(Location(tmp_path / "locks.sqlite"))
    refuse_unfit(Location(tmp_path / "to/be/made/locks.sqlite", is_ours=True))


def test_an_empty_file_and_a_database_are_well(tmp_path: Path) -> None:
    empty, used = tmp_path / "empty", tmp_path / "used"
    empty.touch()
    db = sqlite3.connect(used)
    db.execute("CREATE TABLE a (b)")
    db.close()
    refuse_unfit(Location(empty))
    refuse_unfit(Location(used))


def test_a_folder_that_is_missing_is_refused(tmp_path: Path) -> None:
    text = refused(tmp_path / "missing" / "locks.sqlite")
    assert f"{tmp_path}/missing/locks.sqlite" in text
    assert "No such file or directory" in text


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "file is not a folder" in refused(tmp_path / "file" / "locks.sqlite")


def test_a_file_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    text = refused(tmp_path)
    assert str(tmp_path) in text
    assert "not a regular file; name another" in text


def test_a_file_that_is_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as box:
        box.bind("socket")
    assert "not a regular file" in refused(tmp_path / "socket")


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database")
    text = refused(tmp_path / "notes.txt")
    assert "notes.txt" in text
    assert "not a SQLite database; name another, or move it away" in text


def test_a_circle_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert "Too many levels of symbolic links" in refused(tmp_path / "a" / "locks.sqlite")
    assert "Too many levels of symbolic links" in refused(tmp_path / "a")


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "fuse.sshfs", "fuse.unheard-of", "virtiofs"])
def test_a_folder_that_other_machines_may_see_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"{ROOT}\n30 22 0:40 / {tmp_path}/shared rw - {kind} server:/export rw\n")
    monkeypatch.setattr("dibs.stores.mounts.MOUNTS", str(mounts))
    (tmp_path / "shared" / "deep").mkdir(parents=True)
    text = refused(tmp_path / "shared" / "deep" / "locks.sqlite")
    assert f"{tmp_path}/shared/deep/locks.sqlite" in text
    assert kind in text
    assert "name a folder on a local disk" in text
    assert "DIBS_URL" in text
    refuse_unfit(Location(tmp_path / "locks.sqlite"))
    with pytest.raises(ConfigError, match=kind):
        dibs.connect(f"sqlite:///{tmp_path}/shared/deep/locks.sqlite")


def test_a_link_to_a_file_that_other_machines_may_see_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"{ROOT}\n30 22 0:40 / {tmp_path}/shared rw - nfs4 server:/export rw\n")
    monkeypatch.setattr("dibs.stores.mounts.MOUNTS", str(mounts))
    (tmp_path / "shared").mkdir()
    (tmp_path / "locks.sqlite").symlink_to(tmp_path / "shared" / "locks.sqlite")
    assert "nfs4" in refused(tmp_path / "locks.sqlite")


@pytest.mark.parametrize("kind", ["ext4", "tmpfs", "overlay", "zfs", "fuseblk", "fuse.fuse-overlayfs"])
def test_a_local_disk_is_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"22 1 8:1 / / rw - {kind} /dev/sda1 rw\n")
    monkeypatch.setattr("dibs.stores.mounts.MOUNTS", str(mounts))
    refuse_unfit(Location(tmp_path / "locks.sqlite"))


def test_where_no_list_of_mounts_is_to_be_had_the_folder_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dibs.stores.mounts.MOUNTS", str(tmp_path / "missing"))
    refuse_unfit(Location(tmp_path / "locks.sqlite"))


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/", "ext4"),
        ("/home", "ext4"),
        ("/mnt", "nfs4"),
        ("/mnt/deep", "nfs4"),
        ("/mnt/deep/local", "xfs"),
        ("/mntother", "ext4"),
        ("/twice", "nfs4"),
        ("/my disk/a", "nfs4"),
        ("/back\\slash", "nfs4"),
        ("/Größe/a", "nfs4"),
        ("/caf\udce9/a", "nfs4"),
        ("/odd\x0c\u2028\rname", "nfs4"),
    ],
)
def test_a_folder_is_on_the_last_of_the_nearest_mounts(folder: str, kind: str) -> None:
    lines = [
        ROOT,
        "30 22 0:40 / /mnt rw shared:2 master:1 - nfs4 server:/export rw",
        "31 30 8:2 / /mnt/deep/local rw - xfs /dev/sdb1 rw",
        "32 22 8:3 / /twice rw - ext4 /dev/sdc1 rw",
        "33 32 0:41 / /twice rw - nfs4 server:/export rw",
        "34 22 0:42 / /my\\040disk rw - nfs4 server:/export rw",
        "35 22 0:43 / /back\\134slash rw - nfs4 server:/export rw",
        "36 22 0:44 / /Größe rw - nfs4 server:/export rw",
        "37 22 0:45 / /caf\udce9 rw - nfs4 server:/export rw",
        "38 22 0:46 / /odd\x0c\u2028\rname rw - nfs4 server:/export rw",
    ]
    assert file_system(folder, "\n".join(lines) + "\n") == kind
