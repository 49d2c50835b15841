"""Which store a demo uses, and what it says of one that it cannot use."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.audience import BRIEF, GOOD, demo, see


def test_a_store_can_be_named_and_is_used_in_a_namespace_of_its_own(folder: Path) -> None:
    done = see("--seconds", BRIEF, "--url", f"sqlite:///{folder}/store.sqlite")
    assert (done.returncode, done.stderr) == (0, "")
    assert GOOD.search(done.stdout)
    assert (folder / "store.sqlite").exists()


def test_a_production_store_that_is_configured_is_never_touched(folder: Path) -> None:
    done = see("--seconds", BRIEF, DIBS_URL=f"sqlite:///{folder}/production.sqlite", DIBS_REQUIRE_SHARED="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert GOOD.search(done.stdout)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("memory://", "memory:// is for one process alone, and the demo has several"),
        ("memory://named", "memory:// is for one process alone, and the demo has several"),
        ("carrier-pigeon://loft", "no store goes by carrier-pigeon://"),
        ("nonsense", "that is no URL of a store"),
        ("", "name a store"),
        ("sqlite:////no/such/folder/store.sqlite", "no embedded store at /no/such/folder/store.sqlite"),
    ],
)
def test_a_url_that_makes_no_sense_is_bad_configuration(url: str, sentence: str) -> None:
    done = see("--url", url)
    assert (done.returncode, done.stdout) == (78, "")
    assert done.stderr.startswith("dibs: ")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_store_that_does_not_answer_is_unreachable(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "store.sqlite", isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("BEGIN IMMEDIATE")
        done = see("--url", f"sqlite:///{folder}/store.sqlite")
    assert (done.returncode, done.stdout) == (69, "")
    assert done.stderr.startswith(f"dibs: no word from sqlite:///{folder}/store.sqlite")
    assert done.stderr.count("\n") == 1


def test_a_store_that_goes_away_ends_the_demo_with_a_sentence(folder: Path) -> None:
    place = folder / "place"
    place.mkdir()
    with demo("--url", f"sqlite:///{place}/store.sqlite") as audience:
        audience.read_until("hand-overs/s")
        shutil.rmtree(place)
        audience.read_rest()
        assert audience.process.returncode == 69
        complaint = audience.complaints()
    assert complaint.startswith(f"dibs: no word from sqlite:///{place}/store.sqlite")
    assert complaint.count("\n") == 1


@pytest.mark.thorough
def test_a_store_that_can_be_read_but_no_longer_written_ends_the_demo_too(folder: Path) -> None:
    with demo("--url", f"sqlite:///{folder}/store.sqlite") as audience:
        audience.read_until("hand-overs/s")
        with closing(sqlite3.connect(folder / "store.sqlite", isolation_level=None, timeout=30)) as other:
            other.execute("BEGIN IMMEDIATE")
            audience.read_rest()
        assert audience.process.returncode == 69
        assert "another process keeps it locked" in audience.complaints()
