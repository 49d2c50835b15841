"""Which boot, and whose clock: lease times of another one mean nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from dibs import ConfigError
from dibs.stores.sqlite import boot
from dibs.stores.sqlite.boot import boot_id


def test_a_boot_has_one_name_and_it_stays() -> None:
    assert boot_id() == boot_id()


@pytest.mark.skipif(not boot.LINUX.exists(), reason="there is no /proc here")
def test_another_boot_and_another_clock_have_other_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here = boot_id()
    with monkeypatch.context() as patch:
        patch.setattr(boot, "_time_namespace", lambda: "of a container")
        assert boot_id() != here
    (tmp_path / "boot_id").write_text("another\n")
    monkeypatch.setattr(boot, "LINUX", tmp_path / "boot_id")
    assert boot_id() != here


def test_where_boots_cannot_be_told_apart_the_store_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(boot, "LINUX", tmp_path / "missing")
    with pytest.raises(ConfigError, match="boots apart") as refused:
        boot_id()
    assert "DIBS_URL" in str(refused.value)


def test_a_name_that_changes_with_each_look_is_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sandbox may make one up each time it is asked."""

    class MadeUp:
        looks = 0

        def read_text(self) -> str:
            self.looks += 1
            return f"boot {self.looks}\n"

    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(boot, "LINUX", MadeUp())
    with pytest.raises(ConfigError, match="boots apart"):
        boot_id()
