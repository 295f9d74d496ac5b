"""What every test run has: the skip policy, the header check of compiled kernels, profiles."""

from __future__ import annotations

import sys
from collections.abc import Generator
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from headers.check import check_operation
from skip_policy import SkipPolicy, read_allowed
from ttl.artifact import CompiledOperation

COMPILER = "ttl.driver.compile"  # the module and the function every compilation goes through
COMPILE_FUNCTION = "compile_operation"

hypothesis.settings.register_profile("ci", derandomize=True, deadline=None)
hypothesis.settings.register_profile("full", deadline=None, max_examples=1000)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the slow tests too (marker `full`)")
    parser.addoption(
        "--update-golden", action="store_true", help="write the files of tests/golden again"
    )


def pytest_configure(config: pytest.Config) -> None:
    hypothesis.settings.load_profile("full" if config.getoption("--full") else "ci")
    if not hasattr(config, "workerinput"):  # a worker's reports go to the controller
        allowed = read_allowed(Path(__file__).parent / "allowed_skips.txt")
        config.pluginmanager.register(SkipPolicy(allowed), "skip-policy")
    config.pluginmanager.register(HeaderCheck(), "header-check")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--full"):
        return
    slow = [item for item in items if item.get_closest_marker("full")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("full")]


class HeaderCheck:
    """Type-checks every kernel that a test compiles in this process.

    The compilation itself only notes what it produced: the check runs after the test, where it
    cannot be caught by the test and costs none of its time. A test that compiles in another process
    calls `headers.check.check_folder` itself.
    """

    def __init__(self) -> None:
        self.compiled: list[CompiledOperation] = []

    def pytest_sessionstart(self) -> None:
        module = import_module(COMPILER)
        self._wrap(getattr(module, COMPILE_FUNCTION))

    def _wrap(self, original: Any) -> None:
        """Put a noting function wherever a module of ttl has the original under its name."""

        @wraps(original)
        def compile_and_note(*args: Any, **kwargs: Any) -> CompiledOperation:
            compiled: CompiledOperation = original(*args, **kwargs)
            self.compiled.append(compiled)
            return compiled

        for name, module in sorted(sys.modules.items()):
            if name.split(".")[0] == "ttl" and vars(module).get(COMPILE_FUNCTION) is original:
                setattr(module, COMPILE_FUNCTION, compile_and_note)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        result = yield
        self._check()
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        result = yield
        self._check()
        return result

    def _check(self) -> None:
        compiled, self.compiled = self.compiled, []
        messages = [
            f"{operation.name}: {message}"
            for operation in compiled
            for message in check_operation(operation)
        ]
        if messages:
            pytest.fail("the device headers refuse a kernel:\n" + "\n".join(messages), False)
