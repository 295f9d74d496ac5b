"""Compiling an operation for tensors that are only described: no device, no ttnn, no elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ttl.artifact import CompiledOperation
from ttl.config import Config, chosen_options
from ttl.diagnostics import codes, usage_error
from ttl.semantics.dtypes import DType
from ttl.semantics.layout import TILE_LAYOUT, Layout
from ttl.semantics.types import Shape
from ttl.target import load
from ttl.ttnn.device import Device
from ttl.ttnn.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from ttl.ttnn.tensor import Tensor


@dataclass(frozen=True, slots=True)
class TensorSpec:
    shape: Shape
    dtype: DType
    layout: Layout = TILE_LAYOUT
    memory_config: MemoryConfig = DRAM_MEMORY_CONFIG


def compile_from_spec(
    function: Callable[..., object], specs: Sequence[TensorSpec]
) -> CompiledOperation:
    """The artifact of the operation that `function` is, or calls once, for such tensors.

    The operands of the artifact are those of the call: UsageError where the operation gets the
    tensors in another order, or others.
    """
    device = Device(0, load(Config.current().target))
    tensors = [Tensor.described(each, device) for each in specs]
    captured: list[tuple[CompiledOperation, list[object]]] = []

    def hand_over(compiled: CompiledOperation, used: list[object]) -> None:
        captured.append((compiled, used))

    with chosen_options(compile_only=True, hand_over=hand_over):
        function(*tensors)
    name = getattr(function, "__name__", "the function")
    if len(captured) != 1:
        raise usage_error(
            codes.WRONG_ARGUMENT,
            f"{name} calls {len(captured)} operations, not one",
            "register a function for each operation",
        )
    compiled, used = captured.pop()  # which the options of that call still hold
    if [id(tensor) for tensor in used] != [id(tensor) for tensor in tensors]:
        raise usage_error(
            codes.WRONG_ARGUMENT,
            f"{name} does not pass its tensors to operation {compiled.name} in their order",
            "call the operation with all of them, in the order of the function's parameters",
        )
    return compiled
