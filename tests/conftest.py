"""What every test run has: the skip policy, the header check of compiled kernels, profiles, and
that the ways to run a program agree.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Generator
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from agreement.plugin import AgreementCheck
from headers.check import TARGETS, check_operation
from headers.deferred import DeferredCheck
from sampling import FULL, SEED, is_chosen, more_combinations, sample_seed
from skip_policy import SkipPolicy, read_allowed
from ttl.artifact import CompiledOperation, read_folder

# The module and the function that every compilation and every run of kernels goes through.
COMPILE_FUNCTION = ("ttl.driver.compile", "compile_operation")
LAUNCH_FUNCTION = ("ttl.host.launcher", "launch")

# What tests compile is kept, whatever it takes: they compile thousands of kernels.
os.environ.setdefault("PYTTLANG_CACHE_LIMIT", "none")

# The compiler is what is tested: it compiles also what an earlier run of the tests compiled.
os.environ.setdefault("TTL_ALWAYS_COMPILE", "1")

# What jax compiles to compare with runs once, and compiling it is what takes the time.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true",
)

hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, max_examples=50)
hypothesis.settings.register_profile("full", deadline=None, max_examples=1000)


def pytest_report_header() -> str:
    return f"seed of samples: {sample_seed()} ({SEED} chooses another)"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the slow tests too (marker `full`)")
    parser.addoption(
        "--one-in", type=int, default=1, metavar="N", help="one of so many tests, by the seed"
    )
    parser.addoption(
        "--update-golden", action="store_true", help="write the files of tests/golden again"
    )


def pytest_configure(config: pytest.Config) -> None:
    hypothesis.settings.load_profile("full" if config.getoption("--full") else "ci")
    os.environ[FULL] = "1" if config.getoption("--full") else ""
    if not hasattr(config, "workerinput"):  # a worker's reports go to the controller
        allowed = read_allowed(Path(__file__).parent / "allowed_skips.txt")
        config.pluginmanager.register(SkipPolicy(allowed), "skip-policy")
    config.pluginmanager.register(AgreementCheck(), "agreement-check")
    HEADER_CHECK.deferred = DeferredCheck(config)
    config.pluginmanager.register(HEADER_CHECK, "header-check")
    config.pluginmanager.register(HEADER_CHECK.deferred, "deferred-header-check")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """What is collected stays to the end: looking for garbage in it took a quarter of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_sessionfinish() -> None:
    gc.unfreeze()  # objects of torch are to go before torch does


@pytest.hookimpl(trylast=True)  # the conftest files further down leave cases out, too
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--full"):
        return
    slow = {item for item in items if item.get_closest_marker("full")}
    if not config.getoption("--update-golden"):  # all files are written again
        slow |= more_combinations(item for item in items if item not in slow)
    share = config.getoption("--one-in")
    slow |= {item for item in items if not is_chosen(item.nodeid, share)}
    if slow:
        config.hook.pytest_deselected(items=list(slow))
        items[:] = [item for item in items if item not in slow]


class HeaderCheck:
    """Type-checks every kernel that a test compiles or runs in this process.

    The wrapped functions only note what passes through: the check runs after the test, where it
    cannot be caught by the test and costs none of its time, and at the end of the session for
    kernels that were never checked. A test that compiles in another process
    has the fixture `check_headers`.

    A test whose kernels are wrong on purpose is marked `wrong_kernel("why")`; the headers must then
    refuse them, or the mark is a mistake.
    """

    deferred: DeferredCheck

    def __init__(self) -> None:
        self.noted: dict[int, CompiledOperation] = {}
        _replace(*COMPILE_FUNCTION, self._noting_result)
        _replace(*LAUNCH_FUNCTION, self._noting_argument)

    def _note(self, compiled: CompiledOperation) -> None:
        self.noted[id(compiled)] = compiled

    def _noting_result(self, original: Any) -> Any:
        @wraps(original)
        def compile_and_note(*args: Any, **kwargs: Any) -> CompiledOperation:
            compiled: CompiledOperation = original(*args, **kwargs)
            self._note(compiled)
            return compiled

        return compile_and_note

    def _noting_argument(self, original: Any) -> Any:
        @wraps(original)
        def note_and_launch(compiled: CompiledOperation, *args: Any, **kwargs: Any) -> None:
            self._note(compiled)
            original(compiled, *args, **kwargs)

        return note_and_launch

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        result = yield
        self._check(item)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        result = yield
        self._check(item)
        return result

    def _check(self, item: pytest.Item) -> None:
        noted, self.noted = self.noted, {}
        mark = item.get_closest_marker("wrong_kernel")
        if noted and mark is not None and not mark.args:
            pytest.fail("the mark `wrong_kernel` must say why", False)
        for operation in noted.values():
            if mark is None:
                messages = self.deferred.faults(item.nodeid, operation)
                lines = "".join(f"\n{operation.name}: {message}" for message in messages)
                if lines:
                    pytest.fail(f"the device headers refuse a kernel:{lines}", False)
            elif not check_operation(operation):
                pytest.fail("marked `wrong_kernel`, but the device headers accept it", False)


def _replace(module_name: str, name: str, wrapper: Callable[[Any], Any]) -> None:
    """Put a wrapped function wherever a module of ttl has the original under its name."""
    original = getattr(import_module(module_name), name)
    wrapped = wrapper(original)
    for loaded, module in sorted(sys.modules.items()):
        if loaded.split(".")[0] == "ttl" and vars(module).get(name) is original:
            setattr(module, name, wrapped)


@pytest.fixture
def check_headers(request: pytest.FixtureRequest) -> Callable[[Path], None]:
    """Has the kernels of a folder checked for all chips, as those compiled in this process are."""

    def check(folder: Path) -> None:
        test = request.node.nodeid
        assert HEADER_CHECK.deferred.faults(test, read_folder(folder), TARGETS) == []

    return check


# Here and not when the session starts: the conftest files further down import these functions too.
HEADER_CHECK = HeaderCheck()
