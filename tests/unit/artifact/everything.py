"""An operation that has something of everything an artifact can say."""

from __future__ import annotations

from dataclasses import replace

from ttl.artifact import (
    Buffer,
    CompiledOperation,
    ComputeConfig,
    CoreArguments,
    Kernel,
    Mark,
    Memory,
    NamedPipe,
    Operand,
    OwnArguments,
    SemaphorePlan,
    ThreadKind,
)
from ttl.diagnostics import Span

SPAN = Span("späne.py", 3, 5, 4, 1)
COMPUTE = Kernel(
    "compute",
    ThreadKind.COMPUTE,
    "void kernel_main() {} // é\n",
    (),
    ComputeConfig("LoFi", True, True, True, True),
    ((1, SPAN), (7, replace(SPAN, line=4))),
)
WRITE = Kernel(
    "write",
    ThreadKind.WRITER,
    "\n",
    (1, 0),
    runtime_arg_names=("start", "scale"),
    runtime_args=(CoreArguments((1, 2), (0, 7)), CoreArguments((2, 2), (8, 0xFFFFFFFF))),
    signposts=(("a_b", "a b"), ("load", "load")),
    marks=(Mark(3, "pipe_send", "net", "pipe", "2048", 17), Mark(4, "await", "done", "0", "1", 18)),
    uses_pipe_scratch=True,
)
ONE_CORE = (((2, 2), (2, 2)),)
OWN = Kernel(
    "own",
    ThreadKind.READER,
    "void kernel_main() {}\n",
    runtime_args=(CoreArguments((2, 2), (0x1000,)),),
    own=OwnArguments(
        (3, 0), (("out", 5),), (("N", "2"), ("F(x)", "x + 1")), (0x1000,), 1, ONE_CORE
    ),
)
SHARDED = Memory(
    "L1", "ND_SHARDED", (((0, 0), (1, 0)),), (1, 32, 32), "COL_MAJOR", "ROUND_ROBIN_1D"
)

EVERYTHING = CompiledOperation(
    name="everything",
    target="blackhole",
    device_api="0.81",
    kernels=(COMPUTE, WRITE),
    buffers=(
        Buffer("a_dfb", 5, "BFP_BFloat8", 6, 3, True, SPAN),
        Buffer("b", 6, "Int32", 1, 1),
        Buffer("spilled", 7, "Float32", 4, 2, compiler_allocated=True),
        Buffer("rows", 8, "UInt8", 3, 2, row_bytes=128),
        Buffer("in_shards", 9, "BFloat16", 1, 2, tensor=0, tensor_offset=4096),
    ),
    operands=(
        Operand("a", (1, 64, 32), "bfloat16", "TILE", SHARDED),
        Operand("b", (32, 32), "bfloat4_b", "ROW_MAJOR"),
    ),
    core_range=((1, 2), (2, 2)),
    semaphores=(SemaphorePlan(0, 2), SemaphorePlan(3)),
    pipe_net_count=2,
    pipes=(NamedPipe("net", "(0, 0) -> (1, 0)", (0, 0), (1, 0), (1, 0)),),
    pipe_scratch_bytes=96,
)
BY_HAND = CompiledOperation(
    name="generic_op",
    target="wormhole_b0",
    device_api="0.81",
    kernels=(OWN,),
    buffers=(
        Buffer("one", 9, "UInt8", 1, 2, cores=ONE_CORE),
        Buffer("other", 10, "UInt8", 1, 2, cores=ONE_CORE, shares=0),
    ),
    operands=(Operand("tensor_0", (32, 32), "bfloat16", "TILE", address=0x1000),),
    core_range=ONE_CORE[0],
)
