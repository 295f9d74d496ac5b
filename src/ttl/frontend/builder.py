"""The state of translating one kernel to the ttl dialect.

Names are bound to Python objects (constants, buffers, tensors, modules, functions: everything the
operation's body computed) or to IR values.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.ir import Block, Operation, SSAValue

from ttl.diagnostics import Diagnostic, RuleBroken, Span, codes
from ttl.dialects import ttl
from ttl.dialects.locations import location_of
from ttl.language import DataflowBuffer
from ttl.language.implicit_sync import repair_spans
from ttl.language.operation import KernelFunction
from ttl.semantics.implicit_sync import RepairKind
from ttl.semantics.kernel_kinds import KernelKind, wrong_kind

from .source import node_span

Value = Any  # a Python object or an SSAValue

MISTAKEN = object()  # the value of a name whose statement has a mistake


class CannotCompile(Exception):
    """A statement was given up; its diagnostic is recorded."""


class KernelBuilder:
    """The state of translating one kernel."""

    def __init__(
        self,
        kernel: KernelFunction,
        grid: tuple[int, ...],
        tensors: dict[int, SSAValue],
        device_api: str,
    ):
        self.kernel = kernel
        self.grid = grid
        self.device_api = device_api
        self.file = kernel.function.__code__.co_filename
        self.names: dict[str, Value] = dict(kernel.captures())
        self.implicit = repair_spans(kernel.function)
        self.tensors = tensors  # by id of the Python object
        self.buffers: dict[str, SSAValue] = {}
        self.block = Block()
        self.entry = self.block
        self.span: Span | None = None
        self.diagnostics: list[Diagnostic] = []

    # Building -------------------------------------------------------------------------------------

    def emit(self, op: Operation) -> Operation:
        """Append an operation that stands for the syntax node being translated."""
        if self.span is not None:
            op.location = location_of(self.span)
            self._mark_implicit(op, self.implicit.get(self.span))
        self.block.add_op(op)
        return op

    def _mark_implicit(self, op: Operation, kind: RepairKind | None) -> None:
        """Passes supply the releases and waits that the program leaves out."""
        if kind is RepairKind.RELEASE and isinstance(op, ttl.AcquireOp):
            op.attributes["implicit_release"] = UnitAttr()
        elif kind is not None and isinstance(op, ttl.CopyOp):
            is_at_once = kind is RepairKind.WAIT_AT_ONCE
            op.attributes["implicit_wait"] = StringAttr("at once" if is_at_once else "end of body")

    def value(self, op: Operation, hint: str | None = None) -> SSAValue:
        result = self.emit(op).results[0]
        result.name_hint = hint
        return result

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Operations made and rules broken inside belong to `node`."""
        outer, self.span = self.span, node_span(self.file, node)
        try:
            yield
        except RuleBroken as broken:
            self.diagnostics.append(broken.at(self.span))
            raise CannotCompile from None
        finally:
            self.span = outer

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        outer, self.block = self.block, block
        try:
            yield
        finally:
            self.block = outer

    # Values ---------------------------------------------------------------------------------------

    def index(self, value: Value) -> SSAValue:
        """An integer as an IR value."""
        if isinstance(value, SSAValue) and isinstance(value.type, IndexType):
            return value
        if isinstance(value, bool) or not isinstance(value, int):
            raise not_yet(f"{describe(value)} where an integer is needed")
        constant = arith.ConstantOp(IntegerAttr(value, IndexType()))
        return self.value(constant)

    def buffer(self, buffer: DataflowBuffer) -> SSAValue:
        """The kernel's handle of a dataflow buffer, made at the kernel's start."""
        if buffer.name not in self.buffers:
            bind = ttl.BindBufferOp.create(
                properties={"buffer": SymbolRefAttr(buffer.name)},
                result_types=[buffer_type(buffer)],
            )
            bind.result.name_hint = value_name(buffer.name)
            self._insert_first(bind)
            self.buffers[buffer.name] = bind.result
        return self.buffers[buffer.name]

    def _insert_first(self, bind: ttl.BindBufferOp) -> None:
        """Behind the other handles, in front of everything else."""
        following = self.entry.first_op
        while isinstance(following, ttl.BindBufferOp):
            following = following.next_op
        if following is None:
            self.entry.add_op(bind)
        else:
            self.entry.insert_op_before(bind, following)

    def lookup(self, name: str) -> Value:
        if name in self.names:
            if self.names[name] is MISTAKEN:
                raise CannotCompile
            return self.names[name]
        globals_ = self.kernel.function.__globals__
        if name in globals_:
            return globals_[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise RuleBroken(codes.UNKNOWN_NAME, f"`{name}` is not defined in this kernel")

    def require(self, kind: KernelKind, call: str) -> None:
        if self.kernel.kind is not kind:
            raise wrong_kind(call, self.kernel.kind)


def value_name(name: str) -> str:
    """A Python name as IR values may have it: in ASCII."""
    return "".join(character if character.isascii() else "_" for character in name)


def buffer_type(buffer: DataflowBuffer) -> ttl.DataflowBufferType:
    return ttl.DataflowBufferType.of(buffer.shape, buffer.dtype, buffer.block_count)


def not_yet(what: str) -> RuleBroken:
    return RuleBroken(
        codes.NOT_COMPILED_YET,
        f"the compiler does not translate {what} yet",
        helps=("run the program on the simulator, or write it in a simpler way",),
    )


def describe(value: Value) -> str:
    if not isinstance(value, SSAValue):
        return f"the {type(value).__name__} {value!r}"
    if ttl.is_block_value(value.type):
        return "a block"
    return "a transfer" if isinstance(value.type, ttl.TransferType) else "a run-time value"
