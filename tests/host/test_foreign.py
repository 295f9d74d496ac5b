"""Kernels that were not written by this compiler, in the style of the chip's programming examples.

They stand in foreign/, once with the names of ttnn 0.81 and once with those of 0.69. The operations
have the same five buffers and four tensors, so that one reader and one writer serve all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from ttl.artifact import (
    Buffer,
    CompiledOperation,
    ComputeConfig,
    CoreArguments,
    Kernel,
    Operand,
    SemaphorePlan,
    ThreadKind,
)
from ttl.diagnostics import InternalError, KernelFault
from ttl.host import launch

FOREIGN = Path(__file__).parent / "foreign"
BF16 = ml_dtypes.bfloat16
RANDOM = np.random.default_rng(11)


def source(version: str, name: str) -> str:
    return (FOREIGN / version / f"{name}.cpp").read_text()


def to_tiles(matrix: np.ndarray) -> np.ndarray:
    rows, columns = matrix.shape
    split = matrix.reshape(rows // 32, 2, 16, columns // 32, 2, 16)
    return split.transpose(0, 3, 1, 4, 2, 5).reshape(-1, 1024)


def from_tiles(tiles: np.ndarray, rows: int, columns: int) -> np.ndarray:
    split = tiles.reshape(rows // 32, columns // 32, 2, 2, 16, 16)
    return split.transpose(0, 2, 4, 1, 3, 5).reshape(rows, columns)


@dataclass
class Tensor:
    tiles: np.ndarray
    memory: str = "dram"

    @property
    def page_bytes(self) -> int:
        return int(self.tiles[0].nbytes)

    def read_pages(self) -> np.ndarray:
        return self.tiles.view(np.uint8).reshape(len(self.tiles), -1).copy()

    def write_pages(self, pages: np.ndarray) -> None:
        self.tiles = pages.reshape(-1).view(self.tiles.dtype).reshape(self.tiles.shape).copy()


def random_matrix(rows: int, columns: int) -> np.ndarray:
    """Small whole numbers: sums and products of them are exact in every format."""
    return RANDOM.integers(-4, 5, (rows, columns)).astype(np.float32)


@dataclass(frozen=True)
class Example:
    """What goes in as matrices, what comes out, and the arguments after the number of tiles."""

    inputs: tuple[np.ndarray, ...]
    wanted: np.ndarray
    sizes: tuple[int, ...] = ()
    tolerance: float = 0.0
    product_format: str = "BFloat16"
    fp32_dest_acc_en: bool = True


A, B, C = random_matrix(64, 96), random_matrix(64, 96), random_matrix(96, 64)
X = RANDOM.normal(size=(32, 96)).astype(BF16).astype(np.float32)
BIAS = random_matrix(32, 64)
ONES = np.ones((32, 32), np.float32)
MANY = random_matrix(32, 32 * 12)


def reduced_tiles(matrix: np.ndarray) -> np.ndarray:
    """For each row of tiles: sums of rows in column 0, then maxima of columns in row 0."""
    result = np.zeros((len(matrix) * 2, 32), np.float32)
    for h, block in enumerate(np.split(matrix, len(matrix) // 32)):
        result[64 * h : 64 * h + 32, 0] = block.sum(1)
        result[64 * h + 32] = block.reshape(32, -1, 32).max((0, 1))
    return result


EXAMPLES = {
    "eltwise_binary": Example((A, B), (A + B) * B),
    "sfpu_chain": Example((X,), np.log1p(np.exp(X)), tolerance=0.02),
    "matmul_single_core": Example((A, C), A @ C, (2, 3, 2)),
    "matmul_bias": Example((A, C, BIAS), np.maximum(A @ C + BIAS[:1], 0), (2, 3, 2)),
    "reduce": Example((A, ONES), reduced_tiles(A), (2, 3)),
    "transpose": Example((A,), A.T, (2, 3)),
    "broadcast": Example((A, random_matrix(32, 32), BIAS[:, :32]), np.zeros((64, 96), np.float32)),
    "l1_accumulate": Example((MANY,), MANY.reshape(32, 12, 32).sum(1), product_format="Float32"),
}
column, row = EXAMPLES["broadcast"].inputs[1][:, :1], EXAMPLES["broadcast"].inputs[2][:1]
EXAMPLES["broadcast"] = Example(
    EXAMPLES["broadcast"].inputs,
    A * np.tile(column, (2, 1)) - np.tile(row, (1, 3)),
    fp32_dest_acc_en=False,  # with which unary_bcast<ROW> scrambles rows
)


def arguments_everywhere(*args: int) -> tuple[CoreArguments, ...]:
    return (CoreArguments((0, 0), args),)


def operation(version: str, name: str, example: Example, tensors: Sequence[Tensor]):
    counts = [
        len(tensor.tiles) if i < len(example.inputs) else 0 for i, tensor in enumerate(tensors[:3])
    ]
    output_tiles = len(tensors[3].tiles)
    kernels = (
        Kernel(
            "compute",
            ThreadKind.COMPUTE,
            source(version, name),
            (),
            ComputeConfig(fp32_dest_acc_en=example.fp32_dest_acc_en),
            runtime_args=arguments_everywhere(counts[0], *example.sizes),
        ),
        Kernel(
            "read",
            ThreadKind.READER,
            source(version, "read_tiles"),
            (0, 1, 2),
            runtime_args=arguments_everywhere(*counts),
        ),
        Kernel(
            "write",
            ThreadKind.WRITER,
            source(version, "write_tiles"),
            (3,),
            runtime_args=arguments_everywhere(output_tiles),
        ),
    )
    formats = ("BFloat16", "BFloat16", "BFloat16", "BFloat16", example.product_format)
    sizes = (max(counts[0], 1), max(counts[1], 1), max(counts[2], 1), 2, 4)
    indices = (0, 1, 2, 16, 24)
    buffers = tuple(
        Buffer(f"c_{index}", index, data_format, 1, size)
        for index, data_format, size in zip(indices, formats, sizes, strict=True)
    )
    operands = tuple(Operand(f"t{i}", (32, 32), "bfloat16", "tile") for i in range(4))
    return CompiledOperation(
        name, "wormhole_b0", version, kernels, buffers, operands, ((0, 0), (0, 0))
    )


def run_example(version: str, name: str, cache_dir: Path, seed: int | None = None) -> None:
    example = EXAMPLES[name]
    tensors = [Tensor(to_tiles(matrix).astype(BF16)) for matrix in example.inputs]
    tensors += [Tensor(np.zeros((1, 1024), BF16)) for _ in range(3 - len(tensors))]
    tensors.append(Tensor(np.zeros_like(to_tiles(example.wanted), BF16)))
    launch(operation(version, name, example, tensors), tensors, cache_dir=cache_dir, seed=seed)
    result = from_tiles(tensors[3].tiles.astype(np.float32), *example.wanted.shape)
    wanted = example.wanted.astype(BF16).astype(np.float32)
    np.testing.assert_allclose(result, wanted, rtol=example.tolerance, atol=example.tolerance)


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("host-cache")


@pytest.mark.parametrize("name", EXAMPLES)
def test_current_names(name, cache_dir):
    run_example("0.81", name, cache_dir)
    run_example("0.81", name, cache_dir, seed=3)


@pytest.mark.wrong_kernel("these names are gone from the headers")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", EXAMPLES)
def test_names_of_0_69(name, cache_dir):
    run_example("0.69", name, cache_dir)


@pytest.mark.wrong_kernel("these names are gone from the headers")
def test_names_of_0_69_are_unknown_to_0_81(cache_dir):
    example = EXAMPLES["eltwise_binary"]
    tensors = [Tensor(np.zeros((6, 1024), BF16)) for _ in range(4)]
    new = operation("0.81", "eltwise_binary", example, tensors)
    compute = replace(new.kernels[0], cpp_source=source("0.69", "eltwise_binary"))
    with pytest.raises(InternalError) as caught:
        launch(replace(new, kernels=(compute, *new.kernels[1:])), tensors, cache_dir=cache_dir)
    assert "binary_op_init_common" in caught.value.diagnostics[0].facts["compiler_output"]


def loopback(version: str, cache_dir: Path, seed: int | None = None) -> None:
    pages = 7
    tensors = [Tensor(RANDOM.normal(size=(pages, 1024)).astype(BF16)) for _ in range(2)]
    kernel = Kernel(
        "copy",
        ThreadKind.READER,
        source(version, "loopback"),
        (0, 1),
        runtime_args=arguments_everywhere(pages),
    )
    compiled = CompiledOperation(
        "loopback",
        "wormhole_b0",
        version,
        (kernel,),
        (Buffer("c_0", 0, "BFloat16", 1, 2),),
        tuple(Operand(f"t{i}", (32, 224), "bfloat16", "tile") for i in range(2)),
        ((0, 0), (0, 0)),
    )
    launch(compiled, tensors, cache_dir=cache_dir, seed=seed)
    np.testing.assert_array_equal(tensors[0].tiles, tensors[1].tiles)


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_loopback(cache_dir, seed):
    loopback("0.81", cache_dir, seed)


@pytest.mark.wrong_kernel("these names are gone from the headers")
def test_loopback_of_0_69(cache_dir):
    loopback("0.69", cache_dir)


def multicast(
    version: str,
    cache_dir: Path,
    *,
    text: Callable[[str], str] = lambda kernel: kernel,
    corner: tuple[int, int] = (2, 1),
    target: str = "wormhole_b0",
    seed: int | None = None,
    thread: ThreadKind = ThreadKind.READER,
) -> tuple[np.ndarray, np.ndarray]:
    """What was sent and what each node received."""
    tiles, (last_x, last_y) = 5, corner
    nodes = [(x, y) for y in range(last_y + 1) for x in range(last_x + 1)]
    tensors = [
        Tensor(RANDOM.normal(size=(tiles, 1024)).astype(BF16)),
        Tensor(np.zeros((tiles * len(nodes), 1024), BF16)),
    ]
    other = ThreadKind.WRITER if thread is ThreadKind.READER else ThreadKind.READER
    kernels = (
        Kernel(
            "send",
            thread,
            text(source(version, "multicast")),
            (0,),
            runtime_args=tuple(CoreArguments(node, (tiles, last_x, last_y)) for node in nodes),
        ),
        Kernel(
            "write",
            other,
            source(version, "multicast_write"),
            (1,),
            runtime_args=tuple(
                CoreArguments(node, (tiles, tiles * i)) for i, node in enumerate(nodes)
            ),
        ),
    )
    compiled = CompiledOperation(
        "multicast",
        target,
        version,
        kernels,
        (Buffer("tile", 0, "BFloat16", 1, 2), Buffer("word", 1, "BFloat16", 2, 1)),
        tuple(Operand(f"t{i}", (32, 32), "bfloat16", "tile") for i in range(2)),
        ((0, 0), corner),
        (SemaphorePlan(0), SemaphorePlan(1)),
    )
    launch(compiled, tensors, cache_dir=cache_dir, seed=seed)
    return tensors[0].tiles, tensors[1].tiles.reshape(len(nodes), tiles, 1024)


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_multicast_with_semaphores(cache_dir, seed):
    sent, received = multicast("0.81", cache_dir, seed=seed)
    for tiles in received:
        np.testing.assert_array_equal(tiles, sent)


@pytest.mark.wrong_kernel("these names are gone from the headers")
def test_multicast_of_0_69(cache_dir):
    sent, received = multicast("0.69", cache_dir)
    assert all((tiles == sent).all() for tiles in received)


def test_multicast_over_the_gap_of_blackhole(cache_dir):
    """Columns 8 and 9 of its NoC are no nodes."""
    sent, received = multicast("0.81", cache_dir, corner=(8, 0), target="blackhole")
    assert all((tiles == sent).all() for tiles in received)


def test_corners_for_the_wrong_noc(cache_dir):
    """The writer's NoC runs the other way: the corners must be exchanged."""
    with pytest.raises(KernelFault, match="the wrong way round for NoC 1"):
        multicast("0.81", cache_dir, thread=ThreadKind.WRITER)

    def exchanged(kernel: str) -> str:
        return kernel.replace("(x0, y0, x1, y1,", "(x1, y1, x0, y0,")

    sent, received = multicast("0.81", cache_dir, thread=ThreadKind.WRITER, text=exchanged)
    assert all((tiles == sent).all() for tiles in received)


def test_wrong_number_of_receivers(cache_dir):
    with pytest.raises(KernelFault, match="num_dests is 7, but the multicast reaches 6 nodes"):
        multicast("0.81", cache_dir, text=lambda k: k.replace("(cb_tile), nodes)", "(cb_tile), 7)"))


def test_the_signal_overtakes_data_without_a_barrier(cache_dir):
    """Data and signal share a channel here, but the semaphore of the sender does not wait."""

    def without_barrier(kernel: str) -> str:
        return kernel.replace(
            "            noc_async_write_barrier();\n            *count = i + 1;\n"
            "            noc_semaphore_set_multicast_loopback_src(\n"
            "                word, get_noc_multicast_addr(x0, y0, x1, y1, arrived), nodes);\n"
            "            noc_async_writes_flushed();",
            "            for (uint32_t x = 0; x <= last_x; ++x)\n"
            "              for (uint32_t y = 0; y <= last_y; ++y)\n"
            "                noc_semaphore_inc(get_noc_addr(worker_logical_col_to_virtual_col[x],\n"
            "                    worker_logical_row_to_virtual_row[y], arrived), 1);\n"
            "            (void)count;\n",
        ).replace("    noc_async_write_barrier();\n}", "    noc_async_full_barrier();\n}")

    sent, received = multicast("0.81", cache_dir, text=without_barrier)
    assert not all((tiles == sent).all() for tiles in received)

    def with_barrier(kernel: str) -> str:
        return without_barrier(kernel).replace(
            "            for (uint32_t x",
            "            noc_async_write_barrier();\n            for (uint32_t x",
        )

    sent, received = multicast("0.81", cache_dir, text=with_barrier)
    assert all((tiles == sent).all() for tiles in received)


def test_deadlock_at_a_semaphore(cache_dir):
    with pytest.raises(KernelFault) as caught:
        multicast("0.81", cache_dir, text=lambda k: k.replace("(i + 1) * nodes", "9 * nodes"))
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.message.startswith("deadlock: ")
    assert "semaphore 0 to be at least 54 (it is 6)" in str(diagnostic.facts["waiting"])
