"""convert-ttkernel-to-emitc: each kernel function becomes one C++ file."""

from __future__ import annotations

from collections.abc import Callable
from math import isinf, isnan

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ttl.dialects import emitc, ttkernel

from .module_pass import Maker, erase, kernels, thread_of

UINT32 = emitc.OpaqueType(StringAttr("uint32_t"))
ACCESSOR = emitc.OpaqueType(StringAttr("auto"))


class ConvertTtkernelToEmitc(ModulePass):
    name = "convert-ttkernel-to-emitc"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in list(kernels(op)):
            file = _FileMaker(kernel).make()
            erase(kernel)
            op.body.block.add_op(file)


class _FileMaker:
    """`values` maps each value of the kernel to its emitc value."""

    def __init__(self, kernel: func.FuncOp):
        self.kernel = kernel
        self.thread = thread_of(kernel)
        self.includes: set[str] = set()
        self.declared: set[str] = set(ttkernel.RESERVED_NAMES)
        self.accessor_arguments: list[str] = []  # of the operation's tensors, in order
        self.values: dict[SSAValue, SSAValue] = {}

    def make(self) -> emitc.FileOp:
        body = Block()
        make = Maker(InsertPoint.at_end(body), self.kernel)
        self.convert_block(self.kernel.body.block, make)
        make.add(emitc.ReturnOp.create())
        function = emitc.FuncOp.create(
            properties={
                "sym_name": StringAttr("kernel_main"),
                "function_type": FunctionType.from_lists([], []),
            },
            regions=[Region(body)],
        )
        function.location = self.kernel.location
        file = emitc.FileOp.create(
            properties={"id": self.kernel.sym_name},
            attributes=dict(self.kernel.attributes),
            regions=[Region(Block([*self.make_includes(), function]))],
        )
        return file

    def make_includes(self) -> list[Operation]:
        standard = {"include": StringAttr("cstdint"), "is_standard_include": UnitAttr()}
        return [
            emitc.IncludeOp.create(properties=standard),
            *(
                emitc.IncludeOp.create(properties={"include": StringAttr(name)})
                for name in sorted(self.includes)
            ),
        ]

    def convert_block(self, block: Block, make: Maker) -> None:
        for op in block.ops:
            make.origin = op
            if isinstance(op, ttkernel.CallOp):
                self.convert_call(op, make)
            else:
                CONVERSIONS[type(op)](self, op, make)

    def convert_call(self, op: ttkernel.CallOp, make: Maker) -> None:
        self.includes.add(ttkernel.includes_of(op, self.thread))
        properties: dict[str, Attribute] = {"callee": StringAttr(op.name.removeprefix("ttkernel."))}
        if op.template is not None:
            properties["template_args"] = ArrayAttr([emitc.OpaqueAttr(op.template)])
        operands = [self.values[value] for value in op.arguments]
        if op.value is not None:
            operands.append(self.literal(_float_text(op.value.value.data), make))
        call = emitc.CallOpaqueOp.create(
            operands=operands, properties=properties, result_types=[i32] * len(op.results)
        )
        make.add(call)
        for old, new in zip(op.results, call.results, strict=True):
            self.name(old, new)

    def declare(self, name: str) -> str:
        declared = emitc.unique_identifier(name, self.declared)
        self.declared.add(declared)
        return declared

    def name(self, old: SSAValue, new: SSAValue) -> None:
        new.name_hint = old.name_hint
        self.values[old] = new

    def literal(self, text: str, make: Maker, type: Attribute = i32) -> SSAValue:
        op = emitc.LiteralOp.create(
            properties={"value": StringAttr(text)}, result_types=[type]
        )
        return make.value(op)


def _float_text(value: float) -> str:
    if isnan(value):
        return '__builtin_nanf("")'
    if isinf(value):
        return "__builtin_inff()" if value > 0 else "-__builtin_inff()"
    return f"{value!r}f"


def compile_time_arg(self: _FileMaker, op: ttkernel.CompileTimeArgOp, make: Maker) -> None:
    name, index = self.declare(op.result.type.buffer.data), op.index.value.data
    verbatim(make, f"constexpr uint32_t {name} = get_compile_time_arg_val({index});")
    self.values[op.result] = self.literal(name, make, UINT32)


def tensor_accessor(self: _FileMaker, op: ttkernel.TensorAccessorOp, make: Maker) -> None:
    """Accessor arguments stand one behind the other: those of earlier tensors are declared too."""
    names = self.kernel.attributes["ttl.tensor_names"]
    assert isinstance(names, ArrayAttr)
    position = op.tensor.value.data
    for name in names.data[len(self.accessor_arguments) : position + 1]:
        _declare_accessor_arguments(self, name.data, make)
    name = self.declare(f"{names.data[position].data}_accessor")
    arguments = self.accessor_arguments[position]
    address = f"get_common_arg_val<uint32_t>({op.argument.value.data})"
    verbatim(make, f"const auto {name} = TensorAccessor({arguments}, {address});")
    self.values[op.result] = self.literal(name, make, ACCESSOR)


def _declare_accessor_arguments(self: _FileMaker, tensor: str, make: Maker) -> None:
    if self.accessor_arguments:
        offset = f"{self.accessor_arguments[-1]}.next_compile_time_args_offset()"
    else:
        base = self.kernel.attributes["ttl.base_cta_index"]
        assert isinstance(base, IntegerAttr)
        offset = str(base.value.data)
    name = self.declare(f"{tensor}_args")
    self.accessor_arguments.append(name)
    verbatim(make, f"constexpr auto {name} = TensorAccessorArgs<{offset}>();")


def verbatim(make: Maker, text: str) -> None:
    make.add(emitc.VerbatimOp.create(properties={"value": StringAttr(text)}))


def constant(self: _FileMaker, op: arith.ConstantOp, make: Maker) -> None:
    assert isinstance(op.value, IntegerAttr)
    self.values[op.result] = self.literal(str(op.value.value.data), make)


ARITHMETIC: dict[type[Operation], type[emitc.BinaryOp]] = {
    arith.AddiOp: emitc.AddOp,
    arith.SubiOp: emitc.SubOp,
    arith.MuliOp: emitc.MulOp,
}


def arithmetic(self: _FileMaker, op: Operation, make: Maker) -> None:
    """A tree of operations becomes one expression; only its root gets a variable."""
    if _is_inner(op):
        return
    leaves: dict[SSAValue, None] = {}
    _collect_leaves(op, leaves)
    block = Block(arg_types=[i32] * len(leaves))
    arguments: dict[SSAValue, SSAValue] = dict(zip(leaves, block.args, strict=True))
    inside = Maker(InsertPoint.at_end(block), op)
    inside.add(emitc.YieldOp.create(operands=[_rebuild(op, arguments, inside)]))
    expression = emitc.ExpressionOp.create(
        operands=[self.values[leaf] for leaf in leaves],
        properties={"do_not_inline": UnitAttr()},
        regions=[Region(block)],
        result_types=[i32],
    )
    self.name(op.results[0], make.value(expression))


def _is_inner(op: Operation) -> bool:
    """Is the only use of this arithmetic in other arithmetic of the same block?

    What has a name in the user's program keeps its variable.
    """
    users = [use.operation for use in op.results[0].uses]
    if op.results[0].name_hint is not None:
        return False
    return len(users) == 1 and type(users[0]) in ARITHMETIC and users[0].parent is op.parent


def _collect_leaves(op: Operation, leaves: dict[SSAValue, None]) -> None:
    for operand in op.operands:
        if _is_inner_value(operand):
            _collect_leaves(operand.owner, leaves)  # type: ignore[arg-type]
        else:
            leaves[operand] = None


def _is_inner_value(value: SSAValue) -> bool:
    return type(value.owner) in ARITHMETIC and _is_inner(value.owner)  # type: ignore[arg-type]


def _rebuild(op: Operation, arguments: dict[SSAValue, SSAValue], make: Maker) -> SSAValue:
    operands = [
        _rebuild(operand.owner, arguments, make)  # type: ignore[arg-type]
        if _is_inner_value(operand)
        else arguments[operand]
        for operand in op.operands
    ]
    return make.value(ARITHMETIC[type(op)].create(operands=operands, result_types=[i32]))


def loop(self: _FileMaker, op: scf.ForOp, make: Maker) -> None:
    body = Block(arg_types=[i32])
    self.name(op.body.block.args[0], body.args[0])
    inner = Maker(InsertPoint.at_end(body), op)
    self.convert_block(op.body.block, inner)
    bounds = [self.values[value] for value in (op.lb, op.ub, op.step)]
    make.origin = op
    make.add(emitc.ForOp.create(operands=bounds, regions=[Region(body)]))


def loop_end(self: _FileMaker, op: scf.YieldOp, make: Maker) -> None:
    make.add(emitc.YieldOp.create())


def function_end(self: _FileMaker, op: func.ReturnOp, make: Maker) -> None:
    pass


CONVERSIONS: dict[type[Operation], Callable[..., None]] = {
    ttkernel.CompileTimeArgOp: compile_time_arg,
    ttkernel.TensorAccessorOp: tensor_accessor,
    arith.ConstantOp: constant,
    **dict.fromkeys(ARITHMETIC, arithmetic),
    scf.ForOp: loop,
    scf.YieldOp: loop_end,
    func.ReturnOp: function_end,
}
