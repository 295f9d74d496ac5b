"""A skip or an expected failure must say why, with a reason listed in allowed_skips.txt.

One that is not listed fails the run. Reports are counted where the run is controlled, so it works
the same with parallel workers.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest


def read_allowed(path: Path) -> frozenset[str]:
    """The reasons in the file, one a line; `#` starts a comment line."""
    lines = [line.strip() for line in path.read_text().splitlines()]
    return frozenset(line for line in lines if line and not line.startswith("#"))


class SkipPolicy:
    def __init__(self, allowed: frozenset[str]) -> None:
        self.allowed = allowed
        self.allowed_counts: Counter[str] = Counter()
        self.refused: list[tuple[str, str]] = []  # (test, reason)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._count(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._count(report)

    def _count(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        reason = _reason(report)
        if reason is None:
            return
        if reason in self.allowed:
            self.allowed_counts[reason] += 1
        else:
            self.refused.append((report.nodeid, reason))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.refused and session.exitstatus in (
            pytest.ExitCode.OK,
            pytest.ExitCode.NO_TESTS_COLLECTED,
        ):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        allowed = sum(self.allowed_counts.values())
        terminalreporter.section("skips")
        terminalreporter.line(f"{allowed} for a listed reason, {len(self.refused)} without")
        for reason, count in sorted(self.allowed_counts.items()):
            terminalreporter.line(f"  {count} x {reason}")
        for test, reason in self.refused:
            terminalreporter.line(f"  not in allowed_skips.txt: {test}: {reason}", red=True)


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str | None:
    """Why the test was skipped or expected to fail; None when it ran as it should."""
    expected = getattr(report, "wasxfail", None)
    if expected is not None:
        return str(expected).removeprefix("reason: ")
    if not report.skipped:
        return None
    # A skip's report is (file, line, "Skipped: reason").
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")
