"""What the documents show works: their Python runs, their links lead somewhere, their tests exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
TESTS = "\n".join(path.read_text() for folder in ("tests", "src") for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_in_the_documents_runs(page: Path) -> None:
    for snippet in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", snippet], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert not done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs/README.md").read_text()
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    examples = {f"../examples/{example.name}" for example in (ROOT / "examples").glob("*.py")}
    assert not {name for name in pages | examples if f"]({name})" not in index}
    assert "(docs/README.md)" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_tests_that_are_named_exist(page: Path) -> None:
    for name in re.findall(r"`(test_\w+)`", page.read_text()):
        assert f"def {name}(" in TESTS, name


def test_the_number_of_planted_bugs_is_the_number_that_is_told() -> None:
    sources = [file.read_text() for file in (ROOT / "tests" / "simulation").glob("test_planted_*bugs.py")]
    planted = sum(source.count("    Plant(\n") + source.count('    Plant("') for source in sources)
    assert f"{planted} bugs planted" in (ROOT / "README.md").read_text()
