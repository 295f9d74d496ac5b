"""The header check of all kernels of a session, at its end: many kernels to one compiler call.

What was checked before is known at once. Workers hand what is left to the process that controls
them; a test whose kernel is refused then is reported as an error of that test.
"""

from __future__ import annotations

import pickle
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Iterable
from typing import Any

import pytest

from ttl.artifact import CompiledOperation

from .batch import check_all
from .check import known_faults
from .translation_unit import Unit
from .verdict import cached_verdict

_OUTPUT = "header-check"  # of a worker
_SECONDS = 5  # between lines of progress
Place = tuple[str, str]  # the test, and the operation and kernel


class DeferredCheck:
    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.waiting: dict[Unit, list[Place]] = defaultdict(list)
        self.shown = 0.0

    def faults(
        self, test: str, compiled: CompiledOperation, targets: Iterable[str] | None = None
    ) -> list[str]:
        """What is known to be wrong; the rest is checked at the end."""
        messages, unknown = known_faults(compiled, targets)
        for owner, unit in unknown:
            self.waiting[unit].append((test, f"{compiled.name}: {owner}"))
        return messages

    @pytest.hookimpl(optionalhook=True)  # without workers there is no such hook
    def pytest_testnodedown(self, node: Any) -> None:
        handed_over = getattr(node, "workeroutput", {}).get(_OUTPUT)
        for unit, places in (pickle.loads(handed_over) if handed_over else {}).items():
            self.waiting[unit] += places

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, Any, Any]:
        result = yield
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput[_OUTPUT] = pickle.dumps(dict(self.waiting))
        elif self.waiting:
            self._check()
        return result

    def _check(self) -> None:
        self._show_progress(0, len(self.waiting))
        check_all(self.waiting, self._show_progress)
        refused: dict[str, list[str]] = defaultdict(list)
        for unit, places in self.waiting.items():
            for message in cached_verdict(unit):
                for test, owner in places:
                    refused[test].append(f"{owner}: {message}")
        for test, messages in refused.items():
            self.config.hook.pytest_runtest_logreport(report=_report(test, messages))

    def _show_progress(self, done: int, of: int) -> None:
        if done < of and time.monotonic() - self.shown < _SECONDS:
            return
        self.shown = time.monotonic()
        capture = self.config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled():
            print(f"\ndevice headers: {done} of {of} new kernels checked", end="", file=sys.stderr)


def _report(test: str, messages: list[str]) -> pytest.TestReport:
    lines = "\n".join(["the device headers refuse a kernel:", *dict.fromkeys(messages)])
    place = (test.partition("::")[0], None, test)
    return pytest.TestReport(test, place, {}, outcome="failed", longrepr=lines, when="teardown")
