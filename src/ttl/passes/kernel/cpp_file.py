"""A kernel being converted to one C++ file: its values, names, includes and helpers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, StringAttr, UnitAttr, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ttl.dialects import emitc, ttkernel
from ttl.dialects.ttkernel import name_of, processor_of

from ..module_pass import Maker
from .cpp_expressions import number_text, opaque_call, scalar_type
from .cpp_helpers import CALLED_BY, HELPER_TEXTS

UINT32 = emitc.OpaqueType(StringAttr("uint32_t"))
ACCESSOR = emitc.OpaqueType(StringAttr("auto"))
ITEM = emitc.LValueType(i32)  # an array's
SIGNPOSTS = "ttl.signposts"  # on a kernel: signpost names by zone name
NOT_INLINED = {"do_not_inline": UnitAttr()}

Conversions = Mapping[type[Operation], Callable[["FileMaker", Any, Maker], None]]


class FileMaker:
    """Converts a kernel; `values` maps its values to emitc values."""

    def __init__(self, kernel: func.FuncOp, conversions: Conversions):
        self.kernel = kernel
        self.conversions = conversions
        self.thread = processor_of(kernel)
        self.includes: set[str] = set()
        self.declared: set[str] = set(ttkernel.RESERVED_NAMES)
        self.accessor_arguments: list[str] = []  # the operation's tensors, in order
        self.values: dict[SSAValue, SSAValue] = {}
        self.escaping: dict[SSAValue, SSAValue] = {}  # variables for values that leave a scope
        self.helpers: set[str] = set()  # functions that the kernel's text defines

    # The file ------------------------------------------------------------------------------------

    def make(self) -> emitc.FileOp:
        body = Block()
        make = Maker.at_end(body, self.kernel)
        self.convert_block(self.kernel.body.block, make)
        make.add(emitc.ReturnOp.create())
        start = Maker(InsertPoint.at_start(body), self.kernel)
        for name in sorted(self.helpers):
            verbatim(start, HELPER_TEXTS[name])
        function = emitc.FuncOp.create(
            properties={
                "sym_name": StringAttr("kernel_main"),
                "function_type": FunctionType.from_lists([], []),
            },
            regions=[Region(body)],
        )
        function.location = self.kernel.location
        if SIGNPOSTS in self.kernel.attributes:
            self.includes.add(ttkernel.PROFILER)
        return emitc.FileOp.create(
            properties={"id": StringAttr(name_of(self.kernel))},
            attributes=dict(self.kernel.attributes),
            regions=[Region(Block([*self._make_includes(), function]))],
        )

    def _make_includes(self) -> list[Operation]:
        standard = {"include": StringAttr("cstdint"), "is_standard_include": UnitAttr()}
        own = [{"include": StringAttr(name)} for name in sorted(self.includes)]
        files: tuple[Mapping[str, Attribute], ...] = (standard, *own)
        return [emitc.IncludeOp.create(properties=file) for file in files]

    # Operations ----------------------------------------------------------------------------------

    def convert_block(self, block: Block, make: Maker) -> None:
        for op in block.ops:
            make.origin = op
            if type(op) in self.conversions or not isinstance(op, ttkernel.CallOp):
                self.conversions[type(op)](self, op, make)
            else:
                self.convert_call(op, make)
            if self.escaping:
                self._convert_results(op, make)

    def convert_call(self, op: ttkernel.CallOp, make: Maker) -> None:
        self.includes.add(ttkernel.includes_of(op, self.thread))
        name = op.name.removeprefix("ttkernel.")
        if name == ttkernel.PAGE_ADDRESS:
            self._page_address(op, make)
            return
        if name in HELPER_TEXTS:
            self.helpers |= {name, CALLED_BY.get(name, name)}
        callee = "get_noc_addr" if name == ttkernel.NODE_ADDRESS else name
        operands = [self.values[value] for value in op.operands]
        if op.value is not None:
            operands.append(self.literal(number_text(op.value.value.data, "f"), make))
        operands += [self.literal(text.data, make) for text in op.literals or ()]
        types = [scalar_type(result.type) for result in op.results]
        call = opaque_call(make, callee, operands, types, op.template)
        for old, new in zip(op.results, call.results, strict=True):
            self.name(old, new)

    def _page_address(self, op: ttkernel.CallOp, make: Maker) -> None:
        """Convert a call of the accessor's method."""
        accessor = self.values[op.arguments[0]].owner
        assert isinstance(accessor, emitc.LiteralOp)
        callee = f"{accessor.value.data}.get_noc_addr"
        operands = [self.values[value] for value in op.arguments[1:]]
        call = opaque_call(make, callee, operands, [scalar_type(op.results[0].type)])
        self.name(op.results[0], call.results[0])

    def _convert_results(self, op: Operation, make: Maker) -> None:
        """Copy values that leave a scope to their variables."""
        for result in op.results:
            if (variable := self.escaping.get(result)) is not None:
                make.add(emitc.AssignOp.create(operands=[variable, self.values[result]]))
                self.load(result, variable, make)

    # Values and names ----------------------------------------------------------------------------

    def literal(self, text: str, make: Maker, type: Attribute = i32) -> SSAValue:
        return make.new(emitc.LiteralOp, (), type, value=StringAttr(text))

    def load(self, value: SSAValue, variable: SSAValue, make: Maker) -> None:
        """Map `value` to the variable's content."""
        type = scalar_type(value.type)
        self.values[value] = make.new(emitc.LoadOp, [variable], type, value.name_hint)

    def name(self, old: SSAValue, new: SSAValue) -> None:
        if old.name_hint is not None:
            new.name_hint = old.name_hint
        self.values[old] = new

    def declare(self, name: str) -> str:
        declared = emitc.unique_identifier(name, self.declared)
        self.declared.add(declared)
        return declared


def verbatim(make: Maker, text: str) -> None:
    make.add(emitc.VerbatimOp.create(properties={"value": StringAttr(text)}))
