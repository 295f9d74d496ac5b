"""A compiled operation on disk and back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from golden.example_programs import OPERATIONS, compile_example
from ttl.artifact import (
    Buffer,
    CompiledOperation,
    ComputeConfig,
    Kernel,
    Operand,
    Semaphore,
    ThreadKind,
    read_folder,
    write_folder,
)
from ttl.diagnostics import Span, UsageError

SPAN = Span("späne.py", 3, 5, 4, 1)
COMPUTE = Kernel(
    "compute",
    ThreadKind.COMPUTE,
    "void kernel_main() {} // é\n",
    (),
    ComputeConfig("LoFi", True, True, True, True),
    ((1, SPAN), (7, replace(SPAN, line=4))),
)
EVERYTHING = CompiledOperation(
    name="everything",
    target="blackhole",
    device_api="0.81",
    kernels=(COMPUTE, Kernel("write", ThreadKind.WRITER, "\n", (1, 0))),
    buffers=(Buffer("a_dfb", 5, "BFP_BFloat8", 6, 3, True, SPAN), Buffer("b", 6, "Int32", 1, 1)),
    operands=(Operand("a", (1, 64, 32), "bfloat16", "TILE"), Operand("b", (32, 32), "f", "ROW")),
    core_range=((1, 2), (3, 4)),
    semaphores=(Semaphore(0, 2), Semaphore(3)),
)


def test_everything_comes_back(tmp_path: Path) -> None:
    write_folder(EVERYTHING, tmp_path / "new" / "folder")
    assert read_folder(tmp_path / "new" / "folder") == EVERYTHING


@pytest.mark.parametrize("name", OPERATIONS)
def test_examples_come_back(name: str, tmp_path: Path) -> None:
    compiled = compile_example(name)
    write_folder(compiled, tmp_path)
    assert read_folder(tmp_path) == compiled


def test_writing_again_replaces(tmp_path: Path) -> None:
    write_folder(EVERYTHING, tmp_path)
    changed = replace(EVERYTHING, kernels=(replace(COMPUTE, cpp_source="other\n"),))
    write_folder(changed, tmp_path)
    assert read_folder(tmp_path) == changed


def test_sizes_on_disk_are_those_of_the_buffer(tmp_path: Path) -> None:
    write_folder(EVERYTHING, tmp_path)
    (first, _) = json.loads((tmp_path / "manifest.json").read_text())["cb_configs"]
    assert (first["num_tiles"], first["page_size"], first["total_size"]) == (18, 1088, 18 * 1088)


def test_a_missing_manifest_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"TTL6003.*manifest\.json: No such file"):
        read_folder(tmp_path)


def test_a_missing_kernel_is_named(tmp_path: Path) -> None:
    write_folder(EVERYTHING, tmp_path)
    (tmp_path / "kernels" / "write.cpp").unlink()
    with pytest.raises(UsageError, match=r"write\.cpp: No such file"):
        read_folder(tmp_path)


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(UsageError, match="TTL6003"):
        write_folder(EVERYTHING, tmp_path / "taken")


def test_span_of_a_line_is_that_of_the_last_entry_before_it() -> None:
    found = [COMPUTE.span_of(line) for line in (0, 1, 6, 7, 99)]
    assert found == [None, SPAN, SPAN, replace(SPAN, line=4), replace(SPAN, line=4)]
