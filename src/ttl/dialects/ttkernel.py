"""ttkernel: one operation for each function of the chip's kernel interface.

An operation `ttkernel.f` is the call `f<template>(arguments)`. `includes` is the header that
declares it; compute headers are relative to api/compute/.
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
)
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    irdl_attr_definition,
    operand_def,
    opt_prop_def,
    param_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from ttl.semantics.ops import COPY, DUPLICATE, FILL, FILL_WHOLE, TILE_OPS, TileCall

from .building import QuickOperation
from .definitions import OperationTable, define_operation, dialect_of
from .metal import WordAttr

DATAFLOW = "api/dataflow/dataflow_api.h"
PROFILER = "api/debug/kernel_profiler.hpp"
DPRINT = "api/debug/dprint.h"
ASSERT = "api/debug/assert.h"
COMPUTE = "api/compute/"

# Other functions: methods of the accessor, and functions that the kernel's text defines.
PAGE_ADDRESS = "page_noc_addr"  # accessor, page, byte in it
ROUND = "nearest_bfloat16"  # of a float, defined by the kernel
MOVE_BYTES = "move_bytes"  # L1 addresses of destination and source, bytes
NODE_ADDRESS = "node_noc_addr"  # virtual x and y, L1 address: get_noc_addr
L1_WORD = "l1_word"  # L1 address: a pointer to the word
READ_WORD = "read_l1_word"  # L1 address: the word's current content
# Access to an element of a block by its L1 address: its current value; the double to write
READ_ELEMENT = {"Float32": "read_float32", "BFloat16": "read_bfloat16"}
WRITE_ELEMENT = {"Float32": "write_float32", "BFloat16": "write_bfloat16"}


THREAD = "ttkernel.thread"  # on a kernel function
NAME = "ttl.kernel"  # the user's name of a kernel; its function's also has the operation's
PROCESSOR = "ttl.processor"  # on a data movement kernel: reader or writer


@irdl_attr_definition
class ThreadAttr(WordAttr):
    """`compute` or `noc`: decides the header that a kernel includes, and its calls."""

    name = "ttkernel.thread"
    kind: StringAttr = param_def()


def thread_attributes(processor: str) -> dict[str, Attribute]:
    """Return the attributes of a kernel function for compute, reader or writer."""
    if processor == "compute":
        return {THREAD: ThreadAttr(StringAttr("compute"))}
    return {THREAD: ThreadAttr(StringAttr("noc")), PROCESSOR: StringAttr(processor)}


def processor_of(kernel: Operation) -> str:
    """Return compute, reader or writer; a NoC kernel without this attribute is the reader."""
    thread = kernel.attributes[THREAD]
    assert isinstance(thread, ThreadAttr)
    processor = kernel.attributes.get(PROCESSOR)
    if thread.kind.data == "compute":
        return "compute"
    return processor.data if isinstance(processor, StringAttr) else "reader"


def name_of(kernel: Operation) -> str:
    name = kernel.attributes.get(NAME) or kernel.properties["sym_name"]
    assert isinstance(name, StringAttr)
    return name.data


@irdl_attr_definition
class CBType(ParametrizedAttribute, TypeAttribute):
    """A circular buffer: its index is a compile-time argument of the kernel."""

    name = "ttkernel.cb"
    buffer: StringAttr = param_def()
    data_format: StringAttr = param_def()


@irdl_attr_definition
class AccessorType(ParametrizedAttribute, TypeAttribute):
    """A TensorAccessor: the addresses of a tensor's pages."""

    name = "ttkernel.accessor"
    tensor: StringAttr = param_def()


@irdl_attr_definition
class NocAddressType(ParametrizedAttribute, TypeAttribute):
    """An address that includes its node, in 64 bits."""

    name = "ttkernel.noc_addr"


@irdl_attr_definition
class L1PointerType(ParametrizedAttribute, TypeAttribute):
    """A pointer to a word of this node's L1."""

    name = "ttkernel.l1_ptr"


@irdl_attr_definition
class ArrayType(ParametrizedAttribute, TypeAttribute):
    """The kernel's own integers, accessed by number."""

    name = "ttkernel.array"


class TableOp(QuickOperation):
    """Constant integers."""

    name = "ttkernel.table"
    table_name = prop_def(StringAttr)
    values = prop_def(DenseArrayBase[IntegerType])
    result = result_def(ArrayType)


class ArrayOp(QuickOperation):
    """Integers that are set to 0 here."""

    name = "ttkernel.zeros"
    array_name = prop_def(StringAttr)
    size = prop_def(IntegerAttr)
    result = result_def(ArrayType)


class ArrayLoadOp(QuickOperation):
    name = "ttkernel.array_load"
    array = operand_def(ArrayType)
    number = operand_def(IndexType)
    result = result_def(IndexType)


class ArrayStoreOp(QuickOperation):
    name = "ttkernel.array_store"
    array = operand_def(ArrayType)
    number = operand_def(IndexType)
    value = operand_def(IndexType)


class VirtualCoordinateOp(QuickOperation):
    """The NoC's coordinate of a column (`x`) or a row (`y`) of nodes."""

    name = "ttkernel.virtual_coordinate"
    axis = prop_def(StringAttr)
    number = operand_def(IndexType)
    result = result_def(IndexType)


class CommonArgOp(QuickOperation):
    """Common runtime argument `index`."""

    name = "ttkernel.get_common_arg"
    index = prop_def(IntegerAttr)
    result = result_def(IndexType)


class CompileTimeArgOp(QuickOperation):
    """The circular buffer whose index is compile-time argument `index`."""

    name = "ttkernel.get_compile_time_arg"
    index = prop_def(IntegerAttr)
    result = result_def(CBType)


class RuntimeArgOp(QuickOperation):
    """Runtime argument `index` of this core."""

    name = "ttkernel.get_arg"
    index = prop_def(IntegerAttr)
    result = result_def()


class MarkOp(QuickOperation):
    """An event of a pipe or a semaphore for the executor's trace; the chip's C++ does not contain
    it. The operand is a semaphore's value, or a pipe's place if that is not constant.
    """

    name = "ttkernel.mark"
    kind = prop_def(StringAttr)  # of ttl.artifact.Mark
    subject = prop_def(StringAttr)  # a net or a semaphore
    place = prop_def(IntegerAttr)  # of the pipe among the node's; -1 if unknown
    size = prop_def(IntegerAttr)
    values = var_operand_def()


class DprintOp(QuickOperation):
    """DPRINT on one processor; `literals` are C++ arguments, with `%` for the buffer."""

    name = "ttkernel.dprint"
    format = prop_def(StringAttr)
    processor = prop_def(StringAttr)
    literals = opt_prop_def(ArrayAttr[StringAttr])
    values = var_operand_def()


class TensorAccessorOp(QuickOperation):
    """The accessor of the operation's tensor `tensor`; its address is argument `argument`."""

    name = "ttkernel.tensor_accessor"
    tensor = prop_def(IntegerAttr)
    argument = prop_def(IntegerAttr)
    result = result_def(AccessorType)


class CallOp(QuickOperation, ABC):
    """A call; after the arguments come `value`, a float, and `literals`, C++ texts."""

    arguments = var_operand_def()
    template = opt_prop_def(StringAttr)
    value = opt_prop_def(FloatAttr)
    literals = opt_prop_def(ArrayAttr[StringAttr])
    results_ = var_result_def()
    ARITY: ClassVar[int]
    INCLUDE: ClassVar[str]

    def verify_(self) -> None:
        given = len(self.arguments) + (self.value is not None) + len(self.literals or ())
        if given != self.ARITY:
            raise VerifyException(f"{self.name} takes {self.ARITY} arguments, not {given}")


def _table_calls() -> dict[str, tuple[int, str]]:
    """Return the op table's tile calls and their inits, with arity and header."""
    calls: dict[str, tuple[int, str]] = {}

    def add(call: TileCall, arity: int, init_arity: int) -> None:
        calls[call.call.partition("<")[0]] = (arity, call.include)
        calls[call.init.partition("<")[0]] = (init_arity, call.include)

    add(COPY, 3, 1)
    add(FILL, 2, 0)
    add(DUPLICATE, 2, 0)
    add(FILL_WHOLE, 2, 0)
    for op in TILE_OPS.values():
        of_integers = [form for forms in op.tile.values() for form in forms.integers.values()]
        for forms in (*op.tile.values(), *of_integers):
            if forms.from_buffers:
                add(forms.from_buffers, *((9, 6) if op.name == "matmul" else (5, 2)))
            if forms.by_tile:
                add(forms.by_tile, 5, 2)
            for call in forms.with_broadcast.values():
                add(call, 5, 2)
            for call in forms.by_dims.values():
                is_scaled = op.operands == 2 and call is not COPY
                add(call, *((5, 3) if is_scaled else (3, 1)))
            for reuse in (forms.left_in_dst, forms.right_in_dst):
                if reuse:
                    add(reuse, 3, 1)
            if call := forms.in_dst:
                registers = op.operands + 1 if op.operands > 1 else 1
                add(call, registers + _literals(call, len(op.parameters) or 1), 0)
                if call.then:
                    add(call.then, 1 + _literals(call.then, 1), 0)
    return calls


def _literals(call: TileCall, count: int) -> int:
    return count if call.arguments else 0


_FIXED = {
    "cb_wait_front": (2, "cb_api.h"),
    "cb_pop_front": (2, "cb_api.h"),
    "cb_reserve_back": (2, "cb_api.h"),
    "cb_push_back": (2, "cb_api.h"),
    "ask_unpacker": (2, "cb_api.h"),  # are there so many tiles? All three processors get the answer
    "ask_packer": (2, "cb_api.h"),  # is there room for so many tiles?
    "compute_kernel_hw_startup": (3, "compute_kernel_hw_startup.h"),
    "reconfig_data_format_srca": (1, "reconfig_data_format.h"),
    "reconfig_data_format_srcb": (1, "reconfig_data_format.h"),
    "pack_reconfig_data_format": (1, "reconfig_data_format.h"),
    "tile_regs_acquire": (0, "reg_api.h"),
    "tile_regs_commit": (0, "reg_api.h"),
    "tile_regs_wait": (0, "reg_api.h"),
    "tile_regs_release": (0, "reg_api.h"),
    "pack_tile": (3, "pack.h"),
    "pack_block": (3, "pack.h"),
    "pack_reconfig_l1_acc": (1, "pack.h"),
    "pack_relu_config": (1, "pack.h"),
    "reduce_uninit": (0, "reduce.h"),
    ROUND: (1, FILL.include),
    "tilize_init": (3, "tilize.h"),
    "tilize_block": (3, "tilize.h"),
    "tilize_uninit": (2, "tilize.h"),
    "pack_untilize_init": (2, "pack_untilize.h"),
    "pack_untilize_block": (4, "pack_untilize.h"),
    "pack_untilize_uninit": (1, "pack_untilize.h"),
}
_DATAFLOW = {
    "get_absolute_logical_x": 0,
    "get_absolute_logical_y": 0,
    "cb_pages_reservable_at_back": 2,
    "cb_pages_available_at_front": 2,
    "get_write_ptr": 1,
    "get_read_ptr": 1,
    "get_noc_addr": 1,
    "noc_async_read": 3,
    "noc_async_write": 3,
    "noc_async_read_page": 3,
    "noc_async_write_page": 3,
    "noc_async_read_set_trid": 1,
    "noc_async_read_barrier": 0,
    "noc_async_read_barrier_with_trid": 1,
    "noc_async_write_barrier": 0,
    "noc_async_writes_flushed": 0,
    "noc_async_atomic_barrier": 0,
    "noc_async_write_multicast": 4,
    "noc_async_write_multicast_loopback_src": 4,
    "noc_inline_dw_write": 2,
    "get_noc_multicast_addr": 5,
    "get_semaphore": 1,
    "noc_semaphore_wait": 2,
    "noc_semaphore_wait_min": 2,
    "noc_semaphore_set": 2,
    "noc_semaphore_inc": 2,
    "noc_semaphore_set_multicast": 3,
    "noc_semaphore_set_multicast_loopback_src": 3,
    PAGE_ADDRESS: 3,
    NODE_ADDRESS: 3,
    MOVE_BYTES: 3,
    L1_WORD: 1,
    READ_WORD: 1,
    **dict.fromkeys(READ_ELEMENT.values(), 1),
    **dict.fromkeys(WRITE_ELEMENT.values(), 2),
}


_KNOWN = _FIXED | _table_calls() | {name: (arity, DATAFLOW) for name, arity in _DATAFLOW.items()}


CALLS = OperationTable(
    _KNOWN,
    lambda name: define_operation(
        f"ttkernel.{name}", CallOp, ARITY=_KNOWN[name][0], INCLUDE=_KNOWN[name][1]
    ),
)

# Names that a kernel's variables must not have: functions and types used in its text.
RESERVED_NAMES = frozenset(_KNOWN) | {
    "TensorAccessor",
    "TensorAccessorArgs",
    "DeviceZoneScopedN",
    "floor_divide",
    "floor_divide_floats",
    "float_remainder",
    ROUND,
    "get_arg_val",
    "get_common_arg_val",
    "get_compile_time_arg_val",
    "int32_t",
    "kernel_main",
    "uint32_t",
    "worker_logical_col_to_virtual_col",
    "worker_logical_row_to_virtual_row",
}


def includes_of(call: CallOp, thread: str) -> str:
    """Return the header that a kernel of this kind includes for the call."""
    if thread != "compute":
        return DATAFLOW
    return arguments_include(thread) if call.INCLUDE == DATAFLOW else COMPUTE + call.INCLUDE


def arguments_include(thread: str) -> str:
    """Return the header for arguments and node, which both kinds of kernels have."""
    return DATAFLOW if thread != "compute" else f"{COMPUTE}common.h"


def template_of(call: str) -> Attribute | None:
    """Return the x of `f<x>`, as the op table writes it."""
    _, angle, rest = call.partition("<")
    return StringAttr(rest.removesuffix(">")) if angle else None


def make_dialect() -> Dialect:
    """The dialect with all its operations, for reading IR text."""
    return dialect_of("ttkernel", globals(), calls=CALLS.all())
