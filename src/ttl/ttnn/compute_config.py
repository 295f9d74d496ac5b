"""Compute configurations of programs; results do not depend on them here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ttl.semantics.layout import TILE_LAYOUT, Layout

from .enums import Arch, MathFidelity, NamedChoice
from .faults import wrong_type

__all__ = [
    "Conv2dConfig",
    "DispatchCoreConfig",
    "UnaryOpType",
    "UnaryWithParam",
    "WormholeComputeKernelConfig",
    "init_device_compute_kernel_config",
]


@dataclass(slots=True, kw_only=True)
class WormholeComputeKernelConfig:
    math_fidelity: MathFidelity = MathFidelity.Invalid
    math_approx_mode: bool = True
    fp32_dest_acc_en: bool = False
    packer_l1_acc: bool = False
    dst_full_sync_en: bool = False
    throttle_level: Any = None


def init_device_compute_kernel_config(
    arch: Arch,
    device_kernel_config: WormholeComputeKernelConfig | None = None,
    *,
    math_fidelity: MathFidelity = MathFidelity.LoFi,
    math_approx_mode: bool = True,
    fp32_dest_acc_en: bool = False,
    packer_l1_acc: bool = False,
    dst_full_sync_en: bool = False,
    throttle_level: Any = None,
) -> WormholeComputeKernelConfig:
    """What `compute_kernel_config=` takes."""
    if not isinstance(arch, Arch):
        raise wrong_type("arch", arch, "a ttnn.Arch", "use device.arch()")
    return device_kernel_config or WormholeComputeKernelConfig(
        math_fidelity=math_fidelity,
        math_approx_mode=math_approx_mode,
        fp32_dest_acc_en=fp32_dest_acc_en,
        packer_l1_acc=packer_l1_acc,
        dst_full_sync_en=dst_full_sync_en,
        throttle_level=throttle_level,
    )


@dataclass(slots=True, kw_only=True)
class Conv2dConfig:
    """Options of a convolution; only `activation` and `output_layout` change the result."""

    weights_dtype: Any = None
    activation: Any = None
    deallocate_activation: bool = False
    reallocate_halo_output: bool = True
    config_tensors_in_dram: bool = False
    act_block_h_override: int = 0
    act_block_w_div: int = 1
    reshard_if_not_optimal: bool = False
    override_sharding_config: bool = False
    shard_layout: Any = None
    core_grid: Any = None
    transpose_shards: bool = False
    output_layout: Layout = TILE_LAYOUT
    enable_act_double_buffer: bool = False
    enable_weights_double_buffer: bool = False
    full_inner_dim: bool = False
    enable_kernel_stride_folding: bool | None = None
    enable_activation_reuse: bool = False
    force_split_reader: bool | None = None
    override_output_sharding_config: bool = False


@dataclass(slots=True)
class DispatchCoreConfig:
    """Choice of the cores that dispatch work."""

    type: Any = None
    axis: Any = None


class UnaryOpType(NamedChoice):
    """Functions that other operations apply to their operands or results."""

    EXP = 0
    RECIP = 1
    GELU = 2
    RELU = 4
    SQRT = 5
    SIGMOID = 6
    LOG = 7
    TANH = 9
    ABS = 16
    SQUARE = 19
    LEAKY_RELU = 30
    ELU = 31
    RELU6 = 40
    SILU = 58
    NEG = 61
    MISH = 93
    HARDSIGMOID = 102
    HARDSWISH = 103
    SOFTSIGN = 106


class UnaryWithParam:
    """A function and its parameter, as `activations=` takes it."""

    __slots__ = ("op_type", "params")

    def __init__(self, op_type: Any, *params: float):
        if isinstance(op_type, tuple):
            op_type, *rest = op_type
            params = (*rest, *params)
        if not isinstance(op_type, UnaryOpType):
            raise wrong_type("op_type", op_type, "a ttnn.UnaryOpType")
        self.op_type = op_type
        self.params = list(params)

    def __repr__(self) -> str:
        params = f", params={self.params}" if self.params else ""
        return f"UnaryWithParam(op_type=UnaryOpType::{self.op_type.name}{params})"
