"""The descriptors of the real ttnn, built and read back field by field, where it can be had."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import interpreters
from device import core_ranges
from device.real_ttnn import NO_INTERPRETER, find_environment, run_in_environment
from device.recorded import FORMAT_NUMBERS
from device.standins import SCRATCH_ADDRESS, Tensor, TensorAccessorArgs
from golden.example_programs import EXAMPLES, ON_NODES_ALONE, OPERATIONS, compile_example
from headers.metal_headers import VERSION
from ttl import ttnn
from ttl.artifact import (
    Buffer,
    CompiledOperation,
    ComputeConfig,
    CoreArguments,
    Kernel,
    Operand,
    SemaphorePlan,
    ThreadKind,
    write_folder,
)
from ttl.device.plan import TTNN_DTYPES

READ_BACK = Path(__file__).parent / "read_back.py"

# Of everything that a descriptor can say, something that is not its default.
EVERYTHING = CompiledOperation(
    name="everything",
    target="blackhole",
    device_api="0.81",
    kernels=(
        Kernel(
            "compute",
            ThreadKind.COMPUTE,
            "void kernel_main() {} // é\n",
            config=ComputeConfig("LoFi", True, True, True, True),
        ),
        Kernel(
            "read",
            ThreadKind.READER,
            "read\n",
            (2, 0),
            runtime_arg_names=("start", "scale"),
            runtime_args=(
                CoreArguments((1, 2), (0, 0xFFFFFFFF)),
                CoreArguments((2, 2), (7, 0x3F800000)),
                CoreArguments((1, 3), (8, 1)),
                CoreArguments((2, 3), (9, 2)),
            ),
        ),
        Kernel("write", ThreadKind.WRITER, "write\n", (1,)),
    ),
    buffers=tuple(
        Buffer(f"{name}_dfb", index, name, 2 + index, 1 + index % 3, name == "Float32")
        for index, name in enumerate(FORMAT_NUMBERS)
    ),
    operands=tuple(Operand(name, (64, 32), "bfloat16", "TILE") for name in "abc"),
    core_range=((1, 2), (2, 3)),
    semaphores=(SemaphorePlan(0), SemaphorePlan(3, 0xFFFFFFFF)),
)


@pytest.fixture(scope="module", autouse=True)
def environment() -> Path:
    python = find_environment()
    if python is None:
        pytest.skip(NO_INTERPRETER)
    return python


def expected(compiled: CompiledOperation) -> dict[str, Any]:
    """The fields, from the artifact and the conventions it states, not from the launcher."""
    cores = [[list(corner) for corner in compiled.core_range]]
    return {
        "kernels": [_kernel(compiled, kernel, cores) for kernel in compiled.kernels],
        "cbs": [_buffer(buffer, cores) for buffer in compiled.buffers],
        "semaphores": [
            {
                "id": semaphore.index,
                "core_type": "WORKER",
                "core_ranges": cores,
                "initial_value": semaphore.initial,
            }
            for semaphore in compiled.semaphores
        ],
        "custom_program_hash": None,
    }


def _kernel(compiled: CompiledOperation, kernel: Kernel, cores: list[Any]) -> dict[str, Any]:
    tensors = [Tensor(one.shape, None, None, None, i) for i, one in enumerate(compiled.operands)]
    words = [buffer.index for buffer in compiled.buffers]
    if kernel.config is None:
        for tensor in tensors:
            words += TensorAccessorArgs(tensor).get_compile_time_args()
    addresses = [tensors[i].buffer_address() for i in kernel.tensor_indices]
    if kernel.uses_pipe_scratch:
        addresses.append(SCRATCH_ADDRESS)
    return {
        "kernel_source": kernel.cpp_source,
        "source_type": "SOURCE_CODE",
        "core_ranges": cores,
        "compile_time_args": words,
        "named_compile_time_args": [],
        "defines": [],
        "runtime_args": [[list(one.core), list(one.args)] for one in kernel.runtime_args],
        "common_runtime_args": addresses,
        "compiler_include_paths": [],
        "config": _config(compiled, kernel),
    }


def _config(compiled: CompiledOperation, kernel: Kernel) -> dict[str, Any]:
    if kernel.config is None:
        reads = kernel.thread is ThreadKind.READER
        return {"type": "ReaderConfigDescriptor" if reads else "WriterConfigDescriptor"}
    wide = [buffer.index for buffer in compiled.buffers if buffer.unpack_to_dest_fp32]
    modes = ["UnpackToDestFp32" if index in wide else "Default" for index in range(64)]
    config = kernel.config
    return {
        "type": "ComputeConfigDescriptor",
        "math_fidelity": config.math_fidelity,
        "math_approx_mode": config.math_approx_mode,
        "fp32_dest_acc_en": config.fp32_dest_acc_en,
        "dst_full_sync_en": config.dst_full_sync_en,
        "bfp8_pack_precise": config.bfp8_pack_precise,
        "unpack_to_dest_mode": modes if wide else [],
    }


def _buffer(buffer: Buffer, cores: list[Any]) -> dict[str, Any]:
    return {
        "total_size": buffer.block_tiles * buffer.block_count * buffer.page_bytes,
        "core_ranges": cores,
        "has_buffer": False,
        "buffer_address": None,
        "address_offset": 0,
        "format_descriptors": [
            {
                "buffer_index": buffer.index,
                "data_format": FORMAT_NUMBERS[buffer.data_format],
                "page_size": buffer.page_bytes,
                "tile": None,
            }
        ],
    }


def test_the_examples_are_all_there() -> None:
    assert set(OPERATIONS) == {path.stem for path in EXAMPLES.glob("*.py")} - {"sample_inputs"}


def test_every_example_and_every_field(tmp_path: Path) -> None:
    operations = {"everything": EVERYTHING}
    operations |= {name: compile_example(name) for name in OPERATIONS}
    for name, compiled in operations.items():
        write_folder(compiled, tmp_path / name)
    folders = [str(tmp_path / name) for name in operations]
    built = json.loads(run_in_environment(READ_BACK, *folders))
    for compiled, fields in zip(operations.values(), built, strict=True):
        assert fields == expected(compiled), compiled.name


@pytest.mark.parametrize("name", ON_NODES_ALONE)
def test_a_call_with_real_types_reaches_generic_op(name: str) -> None:
    """Compiled over there, from tensors with the real ttnn's types and layouts."""
    example = str(EXAMPLES / f"{name}.py")
    (fields,) = json.loads(run_in_environment(READ_BACK, "--call", example, OPERATIONS[name]))
    assert fields == expected(compile_example(name))


def test_a_mesh_gets_the_program_on_each_of_its_devices() -> None:
    """With the mesh descriptors of the real ttnn: they are handed over and read back."""
    example = str(EXAMPLES / "elementwise.py")
    found = json.loads(run_in_environment(READ_BACK, "--mesh", example, OPERATIONS["elementwise"]))
    whole, part, reversed_tensors = found
    fields = expected(compile_example("elementwise"))
    everywhere = "MeshCoordinateRange(start=MeshCoordinate([0, 0]), end=MeshCoordinate([1, 1]))"
    assert whole == [[everywhere, fields]]
    assert [place for place, _ in part] == [
        f"MeshCoordinateRange(start=MeshCoordinate([1, {x}]), end=MeshCoordinate([1, {x}]))"
        for x in (0, 1)
    ]
    assert [of_device for _, of_device in part] == [fields, fields]
    ((place, of_mesh),) = reversed_tensors
    addresses = [kernel["common_runtime_args"] for kernel in of_mesh["kernels"]]
    assert place == everywhere
    assert addresses == [[], [0x1C00, 0x1800, 0x1400], [0x1000]]


def test_what_is_missing_here_is_told(tmp_path: Path) -> None:
    """The real ttnn is there, and no device."""
    script = tmp_path / "ask.py"
    script.write_text(
        "from ttl.device.readiness import has_profiler, missing\n"
        "from pathlib import Path\n"
        "print(missing({}, Path('nothing')).message, has_profiler())\n"
    )
    told = run_in_environment(script).strip()
    assert told == f"ttnn {VERSION} is installed, but there is no device in nothing False"


def test_real_tensors_are_tensors() -> None:
    """As far as they go without a device."""
    assert run_in_environment(READ_BACK.parent / "host_tensors.py").splitlines() == [
        "float32 TILE (64, 32)",
        "uint32 ROW_MAJOR (64, 32)",
        " ".join(TTNN_DTYPES.values()),
        "argument `a` of nothing is a host tensor",
    ]


def test_work_is_cut_into_the_same_rectangles() -> None:
    found = json.loads(run_in_environment(Path(core_ranges.__file__)))
    assert found == core_ranges.divided(ttnn)


def test_an_interpreter_that_does_not_run_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "python3.12"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    for path in (str(broken), str(tmp_path / "missing")):
        monkeypatch.setattr(interpreters, "_candidates", lambda path=path: iter([path]))
        assert interpreters.find_python312.__wrapped__() is None


def test_the_embedded_ttnn_is_told_apart() -> None:
    """The script refuses to pass with anything but the real one."""
    done = subprocess.run(
        [sys.executable, str(READ_BACK), "."],
        env={"PYTHONPATH": str(READ_BACK.parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0 and "is not the real ttnn" in done.stderr
