"""Where the file is, and files that are broken, foreign, forbidden or in the way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dibs
from dibs import ConfigError
from dibs.config import Config
from dibs.config.file import config_file
from dibs.config.resolution import resolved
from dibs.events import ConfigNotice
from dibs.testing.contract import Diary


def config(**environment: str) -> Config:
    return resolved({}, environment)[0]


def test_a_file_is_looked_for_upwards_and_the_nearest_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = folder / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    (folder / "dibs.toml").write_text("ttl = 7")
    assert (config().ttl, config().source("ttl")) == (7.0, f"file {folder / 'dibs.toml'}, key ttl")
    (inner.parent / "dibs.toml").write_text("ttl = 8")
    assert config().ttl == 8.0
    (inner / "dibs.toml").write_text("")
    assert config().source("ttl") == "default"


def test_the_section_of_a_pyproject_is_a_file_like_any_other(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.dibs]\nttl = 7\n[tool.dibs.redis]\nhost = "a"\n')
    assert (config().ttl, config().source("ttl")) == (7.0, "file pyproject.toml, key tool.dibs.ttl")
    assert config().source("url") == "file pyproject.toml, key tool.dibs.redis.host"
    (folder / "dibs.toml").write_text("ttl = 8")
    assert config().ttl == 8.0


@pytest.mark.parametrize("text", ['[project]\nname = "dibs-user"\n', "[tool]\nother = 1\n", "[tool.other]\n", "][", ""])
def test_a_pyproject_without_our_section_is_passed_over(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text)
    (folder.parent / "dibs.toml").write_text("ttl = 7")
    assert config().ttl == 7.0


@pytest.mark.parametrize("text", ["[tool]\ndibs = { ttl = 7 }", '["tool"."dibs"]\nttl = 7', "tool . dibs . ttl = 7"])
def test_our_section_may_be_written_in_any_way_that_toml_knows(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text)
    assert config().ttl == 7.0


def test_a_section_that_is_none_is_refused(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool]\ndibs = 5")
    with pytest.raises(ConfigError, match=r"file pyproject.toml, key tool.dibs is no table: write \[tool.dibs\]"):
        config()


def test_the_environment_names_the_file_and_it_must_be_there(folder: Path) -> None:
    (folder / "dibs.toml").write_text("ttl = 7")
    (folder / "other.toml").write_text("ttl = 8")
    assert config(DIBS_CONFIG="other.toml").source("ttl") == "file other.toml, key ttl"
    assert config(DIBS_CONFIG=str(folder / "other.toml")).ttl == 8.0
    assert config(DIBS_CONFIG=" ").ttl == 7.0
    assert config(DIBS_CONFIG=os.devnull).source("ttl") == "default"
    with pytest.raises(ConfigError, match=r"file missing.toml: No such file or directory; give one that can be read"):
        config(DIBS_CONFIG="missing.toml")
    with pytest.raises(ConfigError, match=r"file a\\x00b|file a\x00b"):
        config(DIBS_CONFIG="a\0b")


def test_a_file_that_does_not_say_how_it_is_written_is_refused(folder: Path) -> None:
    (folder / "settings.ini").write_text("ttl = 7")
    with pytest.raises(ConfigError, match=r"file settings.ini: .* a name that ends in .toml or .yaml"):
        config(DIBS_CONFIG="settings.ini")


def test_broken_toml_is_refused_with_its_line(folder: Path) -> None:
    (folder / "dibs.toml").write_text('ttl = 7\nredis.password = "hunter2\nmode = "shadow"\n')
    with pytest.raises(ConfigError, match=r"file dibs.toml is not written as TOML: .*line 2") as told:
        config()
    assert "hunter2" not in str(told.value)


def test_toml_that_is_nested_without_end_is_refused(folder: Path) -> None:
    (folder / "dibs.toml").write_text("ttl = " + "[" * 20_000)
    with pytest.raises(ConfigError, match=r"file dibs.toml is (nested too deeply|not written as TOML)"):
        config()


@pytest.mark.parametrize("name", ["dibs.toml", "pyproject.toml", "application.yml"])
def test_a_folder_in_the_place_of_a_file_is_told(folder: Path, name: str) -> None:
    (folder / name).mkdir()
    with pytest.raises(ConfigError, match=rf"{name}: it is a folder"):
        config()
    with pytest.raises(ConfigError, match=r"file .*: it is a folder"):
        config(DIBS_CONFIG=str(folder))


def test_a_file_that_cannot_be_read_is_told(folder: Path) -> None:
    file = folder / "dibs.toml"
    file.touch(mode=0)
    if os.access(file, os.R_OK):  # root reads every file but this one
        file.unlink()
        file.symlink_to("/proc/self/mem")
    with pytest.raises(ConfigError, match=r"dibs.toml: (Permission denied|Input/output error); give one that can be"):
        config()


def test_what_is_no_file_at_all_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "dibs.toml")
    assert config().source("ttl") == "default"


def test_a_file_in_another_encoding_is_told_with_the_line(folder: Path) -> None:
    (folder / "dibs.toml").write_bytes('ttl = 7\nnamespace = "zürich"\n'.encode("latin-1"))
    with pytest.raises(ConfigError, match=r"file dibs.toml is not written in UTF-8, in line 2: save it as UTF-8"):
        config()
    (folder / "dibs.toml").write_bytes("ttl = 7".encode("utf-16"))
    with pytest.raises(ConfigError, match=r"is not written in UTF-8, in line 1"):
        config()


def test_windows_editors_are_understood(folder: Path) -> None:
    (folder / "dibs.toml").write_bytes('ttl = 7\r\nnamespace = "zürich"\r\n'.encode("utf-8-sig"))
    assert (config().ttl, config().namespace) == (7.0, "zürich")


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("tll = 7", "key tll: there is no such setting; did you mean ttl?"),
        ('redis.hots = "a"', "key redis.hots: there is no such setting; did you mean redis.host?"),
        ("[workflow.lock]\nwait = 5", "did you mean workflow.lock.wait-time?"),
        ('onoutages = "open"', "did you mean on_outage?"),
        ("zzzzzzzz = 1", "there are alert_after_refusals, enabled, labels, local_url, min_replicas, mode, namespace"),
        ("redis = 5", "key redis: there is no such setting"),
        ("[redis.host]\nname = 'a'", "key redis.host.name: there is no such setting"),
        ("[spring.redis]\nhost = 'a'", "key spring.redis.host: there is no such setting; did you mean redis.host?"),
    ],
)
def test_a_key_that_nobody_knows_is_refused_with_the_nearest(folder: Path, line: str, hint: str) -> None:
    (folder / "dibs.toml").write_text(line)
    with pytest.raises(ConfigError) as told:
        config()
    assert hint in str(told.value)
    (folder / "dibs.toml").unlink()
    (folder / "pyproject.toml").write_text(f"[tool.dibs]\n{line.replace('[', '[tool.dibs.')}")
    with pytest.raises(ConfigError, match=r"file pyproject.toml, key tool\.dibs\.\w+.*: there is no such setting"):
        config()


def test_a_key_may_be_written_with_any_joint_but_only_once(folder: Path) -> None:
    for key in ("wait-time", "wait_time", "waitTime"):
        (folder / "dibs.toml").write_text(f"workflow.lock.{key} = 5")
        assert config().workflow_wait == 5.0
        assert config().source("workflow_wait") == f"file dibs.toml, key workflow.lock.{key}"
    (folder / "dibs.toml").write_text('on_outage = "open"\non-outage = "skip"')
    with pytest.raises(ConfigError, match=r"file dibs.toml says the same twice, as on_outage and on-outage: keep one"):
        config()


def test_a_folder_that_was_deleted_has_no_file(folder: Path) -> None:
    folder.rmdir()
    assert config().source("ttl") == "default"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_that_another_user_planted_where_all_may_is_ignored_and_told(folder: Path) -> None:
    (folder / "dibs.toml").write_text("ttl = 7")
    os.chown(folder / "dibs.toml", 12345, 12345)
    assert config_file({}).notices == ()
    assert config().ttl == 7.0
    folder.chmod(0o1777)
    [notice] = config_file({}).notices
    assert notice == f"file {folder / 'dibs.toml'} is ignored: it is another user's, in a folder open to all"
    assert config().source("ttl") == "default"
    assert config(DIBS_CONFIG="dibs.toml").ttl == 7.0


def test_notices_are_told_once_and_logged(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "dibs.toml").write_text("redisson.config.threads = 16\nredisson.codec = 'x'")
    diary = Diary()
    dibs.connect("memory://notices", observers=[diary]).close()
    dibs.connect("memory://notices", observers=[diary]).close()
    [notice] = diary.of(ConfigNotice)
    assert notice.texts == (
        "file dibs.toml, key redisson.config.threads is ignored: dibs has nothing like it",
        "file dibs.toml, key redisson.codec is ignored: dibs has nothing like it",
    )
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert caplog.messages == [f"in the configuration: {'; '.join(notice.texts)}"]


def test_without_a_file_nothing_is_imported_to_read_one() -> None:
    program = """
import sys, dibs
dibs.connect("memory://", quiet=True)
dear = {"tomllib", "yaml", "pathlib", "difflib", "urllib.parse", "dibs.config.layout"} & sys.modules.keys()
sys.exit(f"imported {dear}" if dear else 0)
"""
    subprocess.run([sys.executable, "-c", program], check=True, env={"PATH": os.defpath, "HOME": "/"})
