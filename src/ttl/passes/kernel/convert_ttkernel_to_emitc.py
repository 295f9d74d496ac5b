"""convert-ttkernel-to-emitc: each kernel function becomes one C++ file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isinf, isnan

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ttl.dialects import emitc, ttkernel, ttl

from ..module_pass import Maker, erase, kernels, thread_of
from .cpp_expressions import (
    ARITHMETIC,
    HELPERS,
    constant_text,
    expression_of,
    is_condition,
    is_inner,
    scalar_type,
    tree_of,
)

UINT32 = emitc.OpaqueType(StringAttr("uint32_t"))
GRID = "ttl.launch_grid"  # of a module with kernels
ACCESSOR = emitc.OpaqueType(StringAttr("auto"))


class ConvertTtkernelToEmitc(ModulePass):
    name = "convert-ttkernel-to-emitc"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        modules = [each for each in op.ops if isinstance(each, ModuleOp)]
        for module in (op, *(each for each in modules if GRID in each.attributes)):
            for kernel in list(kernels(module)):
                file = _FileMaker(kernel).make()
                erase(kernel)
                module.body.block.add_op(file)


class _FileMaker:
    """`values` maps each value of the kernel to its emitc value."""

    def __init__(self, kernel: func.FuncOp):
        self.kernel = kernel
        self.thread = thread_of(kernel)
        self.includes: set[str] = set()
        self.declared: set[str] = set(ttkernel.RESERVED_NAMES)
        self.accessor_arguments: list[str] = []  # of the operation's tensors, in order
        self.values: dict[SSAValue, SSAValue] = {}
        self.escaping: dict[SSAValue, SSAValue] = {}  # variables of values that leave a scope
        self.helpers: set[str] = set()  # functions that the kernel's text defines
        self.zones: dict[str, str] = {}  # the names of signposts by those of the profiler

    def make(self) -> emitc.FileOp:
        body = Block()
        make = Maker(InsertPoint.at_end(body), self.kernel)
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
        file = emitc.FileOp.create(
            properties={"id": self.kernel.sym_name},
            attributes=dict(self.kernel.attributes) | self.zone_attribute(),
            regions=[Region(Block([*self.make_includes(), function]))],
        )
        return file

    def zone_attribute(self) -> dict[str, Attribute]:
        names: dict[str, Attribute] = {zone: StringAttr(name) for zone, name in self.zones.items()}
        return {"ttl.signposts": DictionaryAttr(names)} if names else {}

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
            if self.escaping:
                self.convert_results(op, make)

    def convert_call(self, op: ttkernel.CallOp, make: Maker) -> None:
        self.includes.add(ttkernel.includes_of(op, self.thread))
        name = op.name.removeprefix("ttkernel.")
        if name == ttkernel.PAGE_ADDRESS:
            self.page_address(op, make)
            return
        if name in HELPER_TEXTS:
            self.helpers.add(name)
        callee = "get_noc_addr" if name == ttkernel.NODE_ADDRESS else name
        properties: dict[str, Attribute] = {"callee": StringAttr(callee)}
        if op.template is not None:
            properties["template_args"] = ArrayAttr([emitc.OpaqueAttr(op.template)])
        operands = [self.values[value] for value in op.arguments]
        if op.value is not None:
            operands.append(self.literal(_float_text(op.value.value.data), make))
        operands += [self.literal(text.data, make) for text in op.literals or ()]
        types = [scalar_type(result.type) for result in op.results]
        call = emitc.CallOpaqueOp.create(
            operands=operands, properties=properties, result_types=types
        )
        make.add(call)
        for old, new in zip(op.results, call.results, strict=True):
            self.name(old, new)

    def page_address(self, op: ttkernel.CallOp, make: Maker) -> None:
        """A method of the accessor."""
        accessor = self.values[op.arguments[0]].owner
        assert isinstance(accessor, emitc.LiteralOp)
        callee = StringAttr(f"{accessor.value.data}.get_noc_addr")
        call = emitc.CallOpaqueOp.create(
            operands=[self.values[value] for value in op.arguments[1:]],
            properties={"callee": callee},
            result_types=[scalar_type(op.results[0].type)],
        )
        self.name(op.results[0], make.value(call))

    def zone(self, name: str) -> str:
        """The profiler's name of a signpost, another one for each."""
        zone, number = zone_name(name), 1
        while self.zones.setdefault(zone, name) != name:
            number += 1
            zone = f"{zone_name(name)}_{number}"
        return zone

    def declare(self, name: str) -> str:
        declared = emitc.unique_identifier(name, self.declared)
        self.declared.add(declared)
        return declared

    def name(self, old: SSAValue, new: SSAValue) -> None:
        new.name_hint = old.name_hint
        self.values[old] = new

    def convert_results(self, op: Operation, make: Maker) -> None:
        """Values that leave a scope go through a variable."""
        for result in op.results:
            if (variable := self.escaping.get(result)) is not None:
                value = self.values[result]
                make.add(emitc.AssignOp.create(operands=[variable, value]))
                load_all(self, [result], [variable], make)

    def is_renamed(self, op: Operation) -> bool:
        """Is it another name for its operand, which has one of its own?"""
        if not isinstance(op, arith.IndexCastOp) or op.input not in self.values:
            return False
        self.values[op.result] = self.values[op.input]
        return True

    def branch_region(
        self, region: Region, variables: Sequence[SSAValue], op: Operation
    ) -> Region:
        if not region.blocks:
            return Region()
        new = Block()
        inner = Maker(InsertPoint.at_end(new), op)
        self.convert_block(region.block, inner)
        assert region.block.last_op is not None
        assign_all(self, variables, region.block.last_op.operands, inner)
        inner.add(emitc.YieldOp.create())
        return Region(new)

    def literal(self, text: str, make: Maker, type: Attribute = i32) -> SSAValue:
        op = emitc.LiteralOp.create(
            properties={"value": StringAttr(text)}, result_types=[type]
        )
        return make.value(op)


HELPER_TEXTS = {
    # Python rounds a quotient down, C++ to zero.
    "floor_divide": "const auto floor_divide = [](int32_t a, int32_t b) -> int32_t "
    "{ return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); };",
    # As Python has them. The rest is exact: what is taken away is at least half of what there is.
    "float_remainder": "const auto float_remainder = [](double a, double b) -> double { "
    "double r = a < 0 ? -a : a; const double d = b < 0 ? -b : b; "
    'if (!(r - r == 0) || d != d || d == 0) { return __builtin_nan(""); } '
    "while (r >= d) { double part = d; while (part + part <= r) { part += part; } r -= part; } "
    "if (r == 0) { return b < 0 ? -0.0 : 0.0; } "
    "return (a < 0) != (b < 0) ? b - (b < 0 ? -r : r) : a < 0 ? -r : r; };",
    "floor_divide_floats": "const auto floor_divide_floats = [&](double a, double b) -> double { "
    "const double q = (a - float_remainder(a, b)) / b; "
    "if (!(q < 4503599627370496.0 && q > -4503599627370496.0)) { return q; } "
    "const double down = static_cast<double>(static_cast<int64_t>(q < 0 ? q - 0.5 : q + 0.5)); "
    "return down == 0 ? a / b * 0.0 : down; };",
    # To nearest, ties to even; of what a float does not hold the last bit becomes odd.
    ttkernel.ROUND: "const auto nearest_bfloat16 = [](double x) -> double "
    "{ const float f = (float)x; uint32_t b = __builtin_bit_cast(uint32_t, f); "
    "if ((double)f != x && (b & 1u) == 0) { b += (x > (double)f) == (f > 0) ? 1u : ~0u; } "
    "b += 0x7fffu + (b >> 16 & 1u); "
    "return (double)__builtin_bit_cast(float, b & 0xffff0000u); };",
    # Only the unpacker knows what it has popped; the others do what it says. Counts have 16 bits.
    "ask_unpacker": "const auto ask_unpacker = [](uint32_t cb, uint32_t tiles) -> bool "
    "{ uint32_t answer = 0; UNPACK({ "
    "const uint16_t received = reg_read((uintptr_t)get_cb_tiles_received_ptr(cb)); "
    "const uint16_t filled = received - get_local_cb_interface(cb).tiles_acked; "
    "answer = filled >= tiles; "
    "mailbox_write(ckernel::ThreadId::MathThreadId, answer); "
    "mailbox_write(ckernel::ThreadId::PackThreadId, answer); }) "
    "MATH(answer = mailbox_read(ckernel::ThreadId::UnpackThreadId);) "
    "PACK(answer = mailbox_read(ckernel::ThreadId::UnpackThreadId);) "
    "return answer != 0; };",
    # Only the packer knows what it has pushed.
    "ask_packer": "const auto ask_packer = [](uint32_t cb, uint32_t tiles) -> bool "
    "{ uint32_t answer = 0; PACK({ "
    "const uint16_t acked = reg_read((uintptr_t)get_cb_tiles_acked_ptr(cb)); "
    "const uint16_t filled = get_local_cb_interface(cb).tiles_received - acked; "
    "answer = get_local_cb_interface(cb).fifo_num_pages - filled >= tiles; "
    "mailbox_write(ckernel::ThreadId::UnpackThreadId, answer); "
    "mailbox_write(ckernel::ThreadId::MathThreadId, answer); }) "
    "UNPACK(answer = mailbox_read(ckernel::ThreadId::PackThreadId);) "
    "MATH(answer = mailbox_read(ckernel::ThreadId::PackThreadId);) "
    "return answer != 0; };",
    # Within L1, where the NoC could not: byte by byte, the places may overlap.
    ttkernel.MOVE_BYTES: "const auto move_bytes = [](uint32_t to, uint32_t from, uint32_t bytes) "
    "{ invalidate_l1_cache(); "
    "auto* const t = reinterpret_cast<volatile tt_l1_ptr uint8_t*>((uintptr_t)to); "
    "auto* const f = reinterpret_cast<volatile tt_l1_ptr uint8_t*>((uintptr_t)from); "
    "if (to < from) { for (uint32_t i = 0; i < bytes; ++i) { t[i] = f[i]; } } "
    "else { for (uint32_t i = bytes; i > 0; --i) { t[i - 1] = f[i - 1]; } } };",
    ttkernel.L1_WORD: "const auto l1_word = [](uint32_t address) "
    "{ return reinterpret_cast<volatile tt_l1_ptr uint32_t*>((uintptr_t)address); };",
    # Behind a wait for a semaphore, which sees to it that nothing older is read.
    ttkernel.READ_WORD: "const auto read_l1_word = [](uint32_t address) -> int32_t "
    "{ return *reinterpret_cast<volatile tt_l1_ptr uint32_t*>((uintptr_t)address); };",
}


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
    self.includes.add(ttkernel.DATAFLOW)
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


def runtime_arg(self: _FileMaker, op: ttkernel.RuntimeArgOp, make: Maker) -> None:
    self.includes.add(ttkernel.arguments_include(self.thread))
    type = scalar_type(op.result.type)
    word = "int32_t" if type == i32 else "uint32_t" if type == i1 else "float"
    call = emitc.CallOpaqueOp.create(
        operands=[self.literal(str(op.index.value.data), make)],
        properties={
            "callee": StringAttr("get_arg_val"),
            "template_args": ArrayAttr([emitc.OpaqueAttr(StringAttr(word))]),
        },
        result_types=[type],
    )
    self.name(op.result, make.value(call))


def common_arg(self: _FileMaker, op: ttkernel.CommonArgOp, make: Maker) -> None:
    self.includes.add(ttkernel.arguments_include(self.thread))
    call = emitc.CallOpaqueOp.create(
        operands=[self.literal(str(op.index.value.data), make)],
        properties={
            "callee": StringAttr("get_common_arg_val"),
            "template_args": ArrayAttr([emitc.OpaqueAttr(StringAttr("uint32_t"))]),
        },
        result_types=[i32],
    )
    self.name(op.result, make.value(call))


# Arrays -------------------------------------------------------------------------------------------


def table(self: _FileMaker, op: ttkernel.TableOp, make: Maker) -> None:
    numbers = [int(number) for number in op.values.get_values()]
    type = next(name for name, most in TABLE_TYPES if max(numbers) < most)
    name = self.declare(op.table_name.data)
    items = ", ".join(map(str, numbers))
    verbatim(make, f"static constexpr {type} {name}[{len(numbers)}] = {{{items}}};")
    self.values[op.result] = self.literal(name, make, ACCESSOR)


TABLE_TYPES = (("uint8_t", 1 << 8), ("uint16_t", 1 << 16), ("int32_t", 1 << 31))


def array(self: _FileMaker, op: ttkernel.ArrayOp, make: Maker) -> None:
    name = self.declare(op.array_name.data)
    verbatim(make, f"int32_t {name}[{op.size.value.data}] = {{}};")
    self.values[op.result] = self.literal(name, make, ACCESSOR)


def _item(self: _FileMaker, array: SSAValue, number: SSAValue, make: Maker) -> SSAValue:
    subscript = emitc.SubscriptOp.create(
        operands=[self.values[array], self.values[number]],
        result_types=[emitc.LValueType(i32)],
    )
    return make.value(subscript)


def array_load(self: _FileMaker, op: ttkernel.ArrayLoadOp, make: Maker) -> None:
    """In a variable: the array may change."""
    item = _item(self, op.array, op.number, make)
    loaded = make.value(emitc.LoadOp.create(operands=[item], result_types=[i32]))
    self.name(op.result, copied(loaded, make))


def array_store(self: _FileMaker, op: ttkernel.ArrayStoreOp, make: Maker) -> None:
    item = _item(self, op.array, op.number, make)
    make.add(emitc.AssignOp.create(operands=[item, self.values[op.value]]))


def virtual_coordinate(
    self: _FileMaker, op: ttkernel.VirtualCoordinateOp, make: Maker
) -> None:
    self.includes.add(ttkernel.DATAFLOW)
    kind = "col" if op.axis.data == "x" else "row"
    array = self.literal(f"worker_logical_{kind}_to_virtual_{kind}", make, ACCESSOR)
    subscript = emitc.SubscriptOp.create(
        operands=[array, self.values[op.number]], result_types=[emitc.LValueType(i32)]
    )
    load = emitc.LoadOp.create(operands=[make.value(subscript)], result_types=[i32])
    self.values[op.result] = make.value(load)


def constant(self: _FileMaker, op: arith.ConstantOp, make: Maker) -> None:
    type = scalar_type(op.result.type)
    self.values[op.result] = self.literal(constant_text(op), make, type)


def arithmetic(self: _FileMaker, op: Operation, make: Maker) -> None:
    """A tree of operations becomes one expression; only its root gets a variable."""
    if is_inner(op) or self.is_renamed(op):
        return
    expression, leaves = expression_of(op)
    expression.operands = [self.values[leaf] for leaf in leaves]
    for each in tree_of(op):
        self.helpers |= set(HELPERS.get(type(each), ()))
    if not is_condition(op):
        expression.properties["do_not_inline"] = UnitAttr()
    self.name(op.results[0], make.value(expression))


# Variables ----------------------------------------------------------------------------------------


def declare_variables(
    self: _FileMaker, results: Sequence[SSAValue], make: Maker, starts: Sequence[SSAValue] = ()
) -> list[SSAValue]:
    """C++ variables for what a branch or loop changes."""
    variables = []
    for position, result in enumerate(results):
        type = scalar_type(result.type)
        op = emitc.VariableOp.create(
            properties={"value": emitc.OpaqueAttr(StringAttr(""))},
            result_types=[emitc.LValueType(type)],
        )
        variable = make.value(op, result.name_hint)
        if starts:
            make.add(emitc.AssignOp.create(operands=[variable, self.values[starts[position]]]))
        variables.append(variable)
    return variables


def load_all(
    self: _FileMaker, values: Sequence[SSAValue], variables: Sequence[SSAValue], make: Maker
) -> None:
    """Let `values` be what the variables hold."""
    for value, variable in zip(values, variables, strict=True):
        self.values[value] = make.value(
            emitc.LoadOp.create(operands=[variable], result_types=[scalar_type(value.type)]),
            value.name_hint,
        )


def assign_all(
    self: _FileMaker, variables: Sequence[SSAValue], values: Sequence[SSAValue], make: Maker
) -> None:
    """All at once: a variable that is assigned before it is read by another is copied first."""
    new = [self.values[value] for value in values]
    for position, (variable, value) in enumerate(zip(variables, new, strict=True)):
        owner = value.owner
        if isinstance(owner, emitc.LoadOp) and owner.operand in variables[:position]:
            new[position] = copied(value, make)
        elif isinstance(owner, emitc.LoadOp) and owner.operand is variable:
            new[position] = variable  # unchanged
    for variable, value in zip(variables, new, strict=True):
        if value is not variable:
            make.add(emitc.AssignOp.create(operands=[variable, value]))


def copied(value: SSAValue, make: Maker) -> SSAValue:
    block = Block(arg_types=[value.type])
    Maker(InsertPoint.at_end(block), make.origin).add(
        emitc.YieldOp.create(operands=[block.args[0]])
    )
    expression = emitc.ExpressionOp.create(
        operands=[value],
        properties={"do_not_inline": UnitAttr()},
        regions=[Region(block)],
        result_types=[value.type],
    )
    return make.value(expression, value.name_hint)


# Control flow -------------------------------------------------------------------------------------


def loop(self: _FileMaker, op: scf.ForOp, make: Maker) -> None:
    variables = declare_variables(self, op.results, make, op.iter_args)
    body = Block(arg_types=[i32])
    old = op.body.block
    self.name(old.args[0], body.args[0])
    inner = Maker(InsertPoint.at_end(body), op)
    load_all(self, old.args[1:], variables, inner)
    self.convert_block(old, inner)
    assert old.last_op is not None
    assign_all(self, variables, old.last_op.operands, inner)
    inner.add(emitc.YieldOp.create())
    bounds = [self.values[value] for value in (op.lb, op.ub, op.step)]
    make.origin = op
    make.add(emitc.ForOp.create(operands=bounds, regions=[Region(body)]))
    load_all(self, op.results, variables, make)


def branch(self: _FileMaker, op: scf.IfOp, make: Maker) -> None:
    variables = declare_variables(self, op.results, make)
    condition = self.values[op.cond]
    regions = [self.branch_region(region, variables, op) for region in op.regions]
    make.origin = op
    make.add(emitc.IfOp.create(operands=[condition], regions=regions))
    load_all(self, op.results, variables, make)


def while_loop(self: _FileMaker, op: scf.WhileOp, make: Maker) -> None:
    """The test hands on the variables as they are: so the frontend makes it."""
    variables = declare_variables(self, op.results, make, op.arguments)
    test, body = op.before_region.block, op.after_region.block
    condition = test.last_op
    assert isinstance(condition, scf.ConditionOp) and list(condition.args) == list(test.args)
    new_test, new_body = Block(), Block()
    inner = Maker(InsertPoint.at_end(new_test), op)
    load_all(self, test.args, variables, inner)
    self.convert_block(test, inner)
    inner.add(emitc.YieldOp.create(operands=[self.values[condition.condition]]))
    inner = Maker(InsertPoint.at_end(new_body), op)
    load_all(self, body.args, variables, inner)
    self.convert_block(body, inner)
    assert body.last_op is not None
    assign_all(self, variables, body.last_op.operands, inner)
    inner.add(emitc.YieldOp.create())
    make.origin = op
    make.add(emitc.WhileOp.create(regions=[Region(new_test), Region(new_body)]))
    load_all(self, op.results, variables, make)


def nothing(self: _FileMaker, op: Operation, make: Maker) -> None:
    pass


# Signposts ----------------------------------------------------------------------------------------


def signpost(self: _FileMaker, op: ttkernel.SignpostOp, make: Maker) -> None:
    """A C++ scope; values that are used behind it get variables in front of it."""
    if op.is_end is not None:
        verbatim(make, "}")
        return
    self.includes.add(ttkernel.PROFILER)
    escaping = _escaping(op)
    for value, variable in zip(escaping, declare_variables(self, escaping, make), strict=True):
        self.escaping[value] = variable
    verbatim(make, "{")
    verbatim(make, f'DeviceZoneScopedN("{self.zone(op.region_name.data)}");')


def mark(self: _FileMaker, op: ttkernel.MarkOp, make: Maker) -> None:
    operands = [self.values[value] for value in op.values]
    make.add(ttkernel.MarkOp.create(operands=operands, properties=dict(op.properties)))


def dprint(self: _FileMaker, op: ttkernel.DprintOp, make: Maker) -> None:
    """The format is a C++ string, the rest are scalars or C++ texts about a buffer."""
    self.includes.add(ttkernel.DPRINT)
    if thread := op.processor.data:
        self.includes.add(ttkernel.arguments_include(self.thread))
    arguments = [self.values[value] for value in op.values]
    if op.literals is not None:
        owner = arguments[0].owner
        assert isinstance(owner, emitc.LiteralOp)
        name = owner.value.data
        arguments = [
            self.literal(text.data.replace("%", name), make) for text in op.literals
        ]
    text = self.literal(_cpp_string(op.format.data), make)
    callee = f"DPRINT_{thread}" if thread else "DPRINT"
    make.add(
        emitc.CallOpaqueOp.create(
            operands=[text, *arguments],
            properties={"callee": StringAttr(callee)},
            result_types=[],
        )
    )


def check(self: _FileMaker, op: ttl.AssertOp, make: Maker) -> None:
    """On the chip it costs nothing unless the watcher is on."""
    self.includes.add(ttkernel.ASSERT)
    make.add(
        emitc.CallOpaqueOp.create(
            operands=[self.values[op.condition]],
            properties={"callee": StringAttr("ASSERT")},
            result_types=[],
        )
    )


def _cpp_string(text: str) -> str:
    """In octal escapes what is not printable ASCII: they end after three digits."""
    shown = {"\n": "\\n", '"': '\\"', "\\": "\\\\", "?": "\\?"}
    return '"' + "".join(
        shown.get(chr(byte)) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
        for byte in text.encode()
    ) + '"'


def _escaping(start: ttkernel.SignpostOp) -> list[SSAValue]:
    """Scalars that are made before the end of the signpost and used behind it."""
    inside: dict[Operation, None] = {}
    depth, op = 1, start.next_op
    while op is not None and depth:
        if isinstance(op, ttkernel.SignpostOp):
            depth += -1 if op.is_end is not None else 1
        inside[op] = None
        op = op.next_op
    block = start.parent
    assert block is not None
    return [
        result
        for made in inside
        if not isinstance(made, arith.ConstantOp)
        for result in made.results
        if any(block.find_ancestor_op_in_block(use.operation) not in inside for use in result.uses)
    ]


def zone_name(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)


CONVERSIONS: dict[type[Operation], Callable[..., None]] = {
    ttkernel.CompileTimeArgOp: compile_time_arg,
    ttkernel.RuntimeArgOp: runtime_arg,
    ttkernel.TensorAccessorOp: tensor_accessor,
    ttkernel.SignpostOp: signpost,
    ttkernel.MarkOp: mark,
    ttkernel.DprintOp: dprint,
    ttl.AssertOp: check,
    ttkernel.CommonArgOp: common_arg,
    ttkernel.TableOp: table,
    ttkernel.ArrayOp: array,
    ttkernel.ArrayLoadOp: array_load,
    ttkernel.ArrayStoreOp: array_store,
    ttkernel.VirtualCoordinateOp: virtual_coordinate,
    arith.ConstantOp: constant,
    **dict.fromkeys(ARITHMETIC, arithmetic),
    scf.ForOp: loop,
    scf.IfOp: branch,
    scf.WhileOp: while_loop,
    scf.YieldOp: nothing,
    scf.ConditionOp: nothing,
    func.ReturnOp: nothing,
}
