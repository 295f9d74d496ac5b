"""A kernel that the headers refuse fails the test that compiled it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

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


def test_refused_kernels_fail_their_tests(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text(
        f"[pytest]\npythonpath = {TESTS} {TESTS.parent / 'src'}\n"
        "markers = wrong_kernel\n"
    )
    (tmp_path / "allowed_skips.txt").write_text("")
    conftest = (TESTS / "conftest.py").read_text()
    (tmp_path / "standin.py").write_text(STANDIN)
    (tmp_path / "conftest.py").write_text(
        conftest.replace("import hypothesis\n", "import standin\nimport hypothesis\n", 1)
    )
    (tmp_path / "test_it.py").write_text(TEST)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    failed = set(re.findall(r"^FAILED test_it.py::(\w+)", done.stdout, re.MULTILINE))
    assert failed == {
        "test_bad", "test_bad_in_module", "test_bad_in_fixture", "test_bad_launch",
        "test_good_with_a_mark", "test_mark_without_a_reason",
    }, done.stdout + done.stderr  # fmt: skip
    assert "6 failed, 3 passed" in done.stdout, done.stdout
    assert "write (wormhole_b0): kernel.cpp:1:" in done.stdout
    assert "noc_write_barrier" in done.stdout
