"""C++ declarations of a kernel's arguments and arrays."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, i1, i32
from xdsl.ir import Attribute, SSAValue

from ttl.dialects import emitc, ttkernel

from ..module_pass import Maker
from .cpp_control_flow import copy_value
from .cpp_expressions import opaque_call, scalar_type
from .cpp_file import ACCESSOR, ITEM, UINT32, FileMaker, verbatim


def compile_time_arg(file: FileMaker, op: ttkernel.CompileTimeArgOp, make: Maker) -> None:
    name, index = file.declare(op.result.type.buffer.data), op.index.value.data
    verbatim(make, f"constexpr uint32_t {name} = get_compile_time_arg_val({index});")
    file.values[op.result] = file.literal(name, make, UINT32)


def tensor_accessor(file: FileMaker, op: ttkernel.TensorAccessorOp, make: Maker) -> None:
    """Declare an accessor, and arguments of earlier tensors: they follow one another."""
    file.includes.add(ttkernel.DATAFLOW)
    names = file.kernel.attributes["ttl.tensor_names"]
    assert isinstance(names, ArrayAttr)
    position = op.tensor.value.data
    for name in names.data[len(file.accessor_arguments) : position + 1]:
        _declare_accessor_arguments(file, name.data, make)
    name = file.declare(f"{names.data[position].data}_accessor")
    arguments = file.accessor_arguments[position]
    address = f"get_common_arg_val<uint32_t>({op.argument.value.data})"
    verbatim(make, f"auto {name} = TensorAccessor({arguments}, {address});")
    file.values[op.result] = file.literal(name, make, ACCESSOR)


def _declare_accessor_arguments(file: FileMaker, tensor: str, make: Maker) -> None:
    if file.accessor_arguments:
        offset = f"{file.accessor_arguments[-1]}.next_compile_time_args_offset()"
    else:
        base = file.kernel.attributes["ttl.base_cta_index"]
        assert isinstance(base, IntegerAttr)
        offset = str(base.value.data)
    name = file.declare(f"{tensor}_args")
    file.accessor_arguments.append(name)
    verbatim(make, f"constexpr auto {name} = TensorAccessorArgs<{offset}>();")


def runtime_arg(file: FileMaker, op: ttkernel.RuntimeArgOp, make: Maker) -> None:
    type = scalar_type(op.result.type)
    word = "int32_t" if type == i32 else "uint32_t" if type == i1 else "float"
    _read_argument(file, op, "get_arg_val", word, type, make)


def common_arg(file: FileMaker, op: ttkernel.CommonArgOp, make: Maker) -> None:
    _read_argument(file, op, "get_common_arg_val", "uint32_t", i32, make)


def _read_argument(
    file: FileMaker,
    op: ttkernel.RuntimeArgOp | ttkernel.CommonArgOp,
    function: str,
    word: str,
    type: Attribute,
    make: Maker,
) -> None:
    file.includes.add(ttkernel.arguments_include(file.thread))
    index = file.literal(str(op.index.value.data), make)
    call = opaque_call(make, function, [index], [type], StringAttr(word))
    file.name(op.result, call.results[0])


# Arrays -------------------------------------------------------------------------------------------


def table(file: FileMaker, op: ttkernel.TableOp, make: Maker) -> None:
    numbers = [int(number) for number in op.values.get_values()]
    type = next(name for name, most in TABLE_TYPES if max(numbers) < most)
    name = file.declare(op.table_name.data)
    items = ", ".join(map(str, numbers))
    verbatim(make, f"static constexpr {type} {name}[{len(numbers)}] = {{{items}}};")
    file.values[op.result] = file.literal(name, make, ACCESSOR)


TABLE_TYPES = (("uint8_t", 1 << 8), ("uint16_t", 1 << 16), ("int32_t", 1 << 31))


def array(file: FileMaker, op: ttkernel.ArrayOp, make: Maker) -> None:
    name = file.declare(op.array_name.data)
    verbatim(make, f"int32_t {name}[{op.size.value.data}] = {{}};")
    file.values[op.result] = file.literal(name, make, ACCESSOR)


def _item(file: FileMaker, array: SSAValue, number: SSAValue, make: Maker) -> SSAValue:
    return make.new(emitc.SubscriptOp, [file.values[array], file.values[number]], ITEM)


def array_load(file: FileMaker, op: ttkernel.ArrayLoadOp, make: Maker) -> None:
    """Load an item into a variable, as the array may change."""
    item = _item(file, op.array, op.number, make)
    file.name(op.result, copy_value(make.new(emitc.LoadOp, [item], i32), make))


def array_store(file: FileMaker, op: ttkernel.ArrayStoreOp, make: Maker) -> None:
    item = _item(file, op.array, op.number, make)
    make.add(emitc.AssignOp.create(operands=[item, file.values[op.value]]))


def virtual_coordinate(file: FileMaker, op: ttkernel.VirtualCoordinateOp, make: Maker) -> None:
    file.includes.add(ttkernel.DATAFLOW)
    kind = "col" if op.axis.data == "x" else "row"
    array = file.literal(f"worker_logical_{kind}_to_virtual_{kind}", make, ACCESSOR)
    item = make.new(emitc.SubscriptOp, [array, file.values[op.number]], ITEM)
    file.values[op.result] = make.new(emitc.LoadOp, [item], i32)
