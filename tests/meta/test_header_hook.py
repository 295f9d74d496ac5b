"""A kernel that the headers refuse fails the test that compiled it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from headers.metal_headers import find_headers

TESTS = Path(__file__).parents[1]

# A package `ttl.driver.compile` of our own, put where the compiler would be.
STANDIN = """
import sys, types
from ttl.artifact import CompiledOperation, Kernel, ThreadKind

def compile_operation(call):
    source = "void kernel_main() { %s; }" % call
    kernel = Kernel(name="write", thread=ThreadKind.WRITER, cpp_source=source)
    return CompiledOperation(name="one", target="wormhole_b0", device_api="0.81",
                             kernels=(kernel,), buffers=(), operands=(),
                             core_range=((0, 0), (0, 0)))

driver, compile_module = types.ModuleType("ttl.driver"), types.ModuleType("ttl.driver.compile")
driver.__path__ = []
compile_module.compile_operation = driver.compile_operation = compile_operation
driver.compile = compile_module
sys.modules["ttl.driver"], sys.modules["ttl.driver.compile"] = driver, compile_module
"""
TEST = """
import pytest
from ttl.driver.compile import compile_operation
from ttl.host import launch
from standin import compile_operation as make  # not the wrapped one
import ttl.driver.compile as compiler

def test_good(): compile_operation("noc_async_write_barrier()")
def test_bad(): compile_operation("noc_write_barrier()")
def test_bad_in_module(): compiler.compile_operation("noc_write_barrier(1)")

@pytest.fixture
def compiled(): return compile_operation("noc_write_barrier(2)")
def test_bad_in_fixture(compiled): pass

def run(call):
    with pytest.raises(AssertionError, match="one tensor for each operand"):
        launch(make(call), [None], cache_dir=None)

def test_good_launch(): run("noc_async_write_barrier()")
def test_bad_launch(): run("noc_write_barrier(3)")

@pytest.mark.wrong_kernel("for a test")
def test_bad_on_purpose(): run("noc_write_barrier(4)")

@pytest.mark.wrong_kernel("for a test")
def test_good_with_a_mark(): run("noc_async_write_barrier()")

@pytest.mark.wrong_kernel
def test_mark_without_a_reason(): run("noc_write_barrier(5)")
"""


REFUSED = {"test_bad", "test_bad_in_module", "test_bad_in_fixture", "test_bad_launch"}
MARKED_WRONGLY = {"test_good_with_a_mark", "test_mark_without_a_reason"}


def test_refused_kernels_fail_their_tests(tmp_path: Path) -> None:
    _write_project(tmp_path)
    new = _run(tmp_path, "-n", "2")  # at the end of the session, from all workers
    assert _tests("ERROR", new) == REFUSED, new
    assert _tests("FAILED", new) == MARKED_WRONGLY, new
    assert "2 failed, 7 passed, 4 errors" in new
    known = _run(tmp_path)
    assert _tests("FAILED", known) == REFUSED | MARKED_WRONGLY, known
    assert "6 failed, 3 passed" in known
    for output in (new, known):
        assert "write (wormhole_b0): kernel.cpp:1:" in output
        assert "noc_write_barrier" in output


def _write_project(folder: Path) -> None:
    """With headers and without a verdict."""
    (folder / "pytest.ini").write_text(
        f"[pytest]\npythonpath = {TESTS} {TESTS.parent / 'src'}\nmarkers = wrong_kernel\n"
    )
    (folder / "allowed_skips.txt").write_text("")
    conftest = (TESTS / "conftest.py").read_text()
    (folder / "standin.py").write_text(STANDIN)
    (folder / "conftest.py").write_text(
        conftest.replace("import hypothesis\n", "import standin\nimport hypothesis\n", 1)
    )
    (folder / "test_it.py").write_text(TEST)
    headers = find_headers()
    cache = folder / "cache" / headers.parent.name
    cache.mkdir(parents=True)
    (cache / headers.name).symlink_to(headers)


def _run(folder: Path, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTTLANG_CACHE": str(folder / "cache")},
    )
    return done.stdout + done.stderr


def _tests(outcome: str, output: str) -> set[str]:
    return set(re.findall(rf"^{outcome} test_it.py::(\w+)", output, re.MULTILINE))
