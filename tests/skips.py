"""A pytest plugin: says what was skipped and why, and in CI refuses a skip nobody has explained."""

import os
from collections import Counter
from pathlib import Path

import pytest

ALLOWED = Path(__file__).with_name("allowed_skips.txt")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # under xdist the reports all come to the first process
        config.pluginmanager.register(Skips(allowed(ALLOWED), strict=in_ci()), "dibs-skips")


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def allowed(file: Path) -> list[str]:
    """The reasons a skip may have; each line of the file is `reason -- explanation`."""
    if not file.exists():
        return []
    lines = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    return [_reason(line) for line in lines if line and not line.startswith("#")]


def _reason(line: str) -> str:
    reason, _, explanation = (part.strip() for part in line.partition(" -- "))
    if not explanation:
        raise pytest.UsageError(f"{ALLOWED.name}: {line!r} lacks its explanation (reason -- explanation)")
    return reason


class Skips:
    """What was skipped in this run, counted by reason."""

    def __init__(self, allowed: list[str], *, strict: bool) -> None:
        self._allowed = allowed
        self._strict = strict
        self._tests: Counter[str] = Counter()
        self._modules: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self._tests[_why(report)] += 1

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._modules[_why(report)] += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._strict and self._unexplained() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        reasons = self._reasons()
        if not reasons:
            return
        terminalreporter.section("skipped")
        terminalreporter.line("Skipped, by name:")
        for reason in reasons:
            terminalreporter.line(f"  {reason}: {self._amount(reason)}")
        if self._strict and (unexplained := self._unexplained()):
            terminalreporter.line(f"Skipped without an explanation in tests/{ALLOWED.name}:", red=True)
            for reason in unexplained:
                terminalreporter.line(f"  {reason}", red=True)

    def _reasons(self) -> list[str]:
        return sorted(self._tests.keys() | self._modules.keys())

    def _unexplained(self) -> list[str]:
        return [reason for reason in self._reasons() if not self._is_allowed(reason)]

    def _is_allowed(self, reason: str) -> bool:
        return any(_matches(reason, entry) for entry in self._allowed)

    def _amount(self, reason: str) -> str:
        amounts = (_plural(self._tests[reason], "test"), _plural(self._modules[reason], "whole module"))
        return ", ".join(filter(None, amounts))


def _why(report: pytest.TestReport | pytest.CollectReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return " ".join(text.removeprefix("Skipped: ").split())


def _matches(reason: str, entry: str) -> bool:
    return reason.startswith(entry[:-1]) if entry.endswith("*") else reason == entry


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}" if count else ""
