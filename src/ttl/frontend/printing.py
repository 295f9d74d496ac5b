"""print() in a kernel: strings, scalars, and at most one tensor, block or dataflow buffer."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64

from ttl.diagnostics import codes
from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type
from ttl.language import DataflowBuffer
from ttl.semantics import printing
from ttl.semantics.dtypes import DType, dtype_of
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT
from ttl.semantics.tensors import row_page_elements

from .builder import KernelBuilder
from .hir import BlockValue, HeldBlock, RunTime, SliceValue, Value, is_run_time, kind_of
from .node_values import NodeObjects, differs, on_each_node
from .problems import describe, not_in_kernels, not_yet
from .texts import RunTimeText
from .value_ranges import node_object


def _text(builder: KernelBuilder, value: Value) -> str:
    if not differs(value):
        return str(value)
    found = on_each_node(str, [value])
    return str(node_object(builder, found) if isinstance(found, NodeObjects) else found)


POINTERS = ("rd_ptr", "wr_ptr", "wr_tile_ptr", "filled")


class _Line:
    """The format of DPRINT, and the values of its fields."""

    def __init__(self) -> None:
        self.format = ""
        self.values: list[RunTime] = []

    def add(self, builder: KernelBuilder, value: Value) -> None:
        if isinstance(value, RunTimeText):
            for part in value.parts:
                if isinstance(part, str):
                    self.format += escaped(part)
                else:
                    self._field(builder, *part)
        elif isinstance(value, (tuple, list)) and is_run_time(value):
            self._items(builder, value)
        elif isinstance(value, dict):
            self._pairs(builder, value)
        elif isinstance(value, RunTime):
            self._field(builder, value)
        else:
            self.format += escaped(_text(builder, value))

    def _items(self, builder: KernelBuilder, items: tuple[Value, ...] | list[Value]) -> None:
        """A tuple or list as Python shows it."""
        brackets = "()" if isinstance(items, tuple) else "[]"
        self.format += brackets[0]
        for number, item in enumerate(items):
            self.format += ", " if number else ""
            self.add(builder, item if is_run_time(item) else repr(item))
        self.format += "," if isinstance(items, tuple) and len(items) == 1 else ""
        self.format += brackets[1]

    def _pairs(self, builder: KernelBuilder, items: dict[Any, Value]) -> None:
        self.format += escaped("{")
        for number, (key, item) in enumerate(items.items()):
            self.format += escaped(f"{', ' if number else ''}{key!r}: ")
            self.add(builder, item if is_run_time(item) else repr(item))
        self.format += escaped("}")

    def _field(self, builder: KernelBuilder, value: RunTime, spec: str = "") -> None:
        if kind_of(value) is None:
            raise codes.NOT_IN_KERNELS.broken(f"print() inside a text of {describe(value)}")
        self.format += f"{{:{spec}}}" if spec else "{}"
        self.values.append(value)
        builder.tells_kinds = True


def escaped(text: str) -> str:
    return printing.printable(text).replace("{", "{{").replace("}", "}}")


def print_values(builder: KernelBuilder, *values: Value, **options: Any) -> None:
    names = ("num_pages", "sep", "end", "thread")
    num_pages, sep, end, thread = (options.pop(name, None) for name in names)
    num_pages = 1 if num_pages is None else num_pages
    options.pop("flush", None)
    if options:
        raise not_in_kernels(
            f"print() with {', '.join(f'{name}=' for name in options)}",
            "give print() values, sep=, end= and thread=, and num_pages= beside a tensor",
        )
    positions = [n for n, value in enumerate(values) if _is_object(builder, value)]
    if is_run_time((num_pages, sep, end, thread)) or isinstance(sep, RunTimeText):
        raise not_in_kernels("print() with options that are known only at run time")
    printing.check_print(len(positions), num_pages, sep, end, thread)
    between = escaped(" " if sep is None else sep)
    position = positions[0] if positions else len(values)
    before = _line(builder, values[:position], between)
    after = _line(builder, values[position + 1 :], between)
    shown = _shown(builder, values[position], num_pages) if positions else {}
    if positions:
        before.format += between if position else ""
        after.format = (between if position + 1 < len(values) else "") + after.format
    if end not in (None, "\n"):
        shown["end"] = escaped(end)
    if thread is not None:
        shown["thread"] = thread
    objects = shown.pop("values", [])
    builder.emit(
        ttl.PrintOp,
        [*before.values, *objects, *after.values],
        {
            "before": StringAttr(before.format),
            "after": StringAttr(after.format),
            "position": IntegerAttr(len(before.values), i64),
            "num_pages": IntegerAttr(num_pages, i64),
            **{name: StringAttr(text) for name, text in shown.items()},
        },
    )


def _line(builder: KernelBuilder, values: tuple[Value, ...], between: str) -> _Line:
    line = _Line()
    for number, value in enumerate(values):
        line.format += between if number else ""
        line.add(builder, value)
    return line


def _is_object(builder: KernelBuilder, value: Value) -> bool:
    if isinstance(value, RunTime):
        return kind_of(value) is None
    return isinstance(value, DataflowBuffer) or builder.is_tensor(value)


def _shown(builder: KernelBuilder, value: Value, num_pages: int) -> dict[str, Any]:
    if isinstance(value, DataflowBuffer):
        return _buffer(builder, value)
    if builder.is_tensor(value):
        return _tensor(builder, value, num_pages)
    if isinstance(value, HeldBlock):
        return _block(builder, value)
    if isinstance(value, BlockValue) and not isinstance(value, SliceValue):
        heading = printing.expression_heading(block_type(value.type))
        return {"shows": "block", "heading": heading, "values": [value]}
    raise not_yet(f"print() of {describe(value)}")


def _block(builder: KernelBuilder, block: HeldBlock) -> dict[str, Any]:
    type = block_type(block.type)
    name = next(n for n, handle in builder.handles.buffers.items() if handle is block.buffer)
    return {"shows": "block", "heading": printing.block_heading(name, type), "values": [block]}


def _buffer(builder: KernelBuilder, buffer: DataflowBuffer) -> dict[str, Any]:
    pages = buffer.block_tiles * buffer.block_count
    fields: dict[str, Any] = {
        "size": buffer.size_bytes,
        "page_size": buffer.size_bytes // pages,
        "num_pages": pages,
        **dict.fromkeys(POINTERS, "{}"),
    }
    heading = printing.buffer_text(buffer.name, fields)
    return {"shows": "buffer", "heading": heading, "values": [builder.handles.buffer(buffer)]}


def _tensor(builder: KernelBuilder, tensor: Any, num_pages: int) -> dict[str, Any]:
    if builder.kernel.kind is not KernelKind.DATAMOVEMENT:
        raise codes.WRONG_KERNEL_KIND.broken(
            "a compute kernel cannot print a tensor: it reaches no memory but its node's",
            "print it in a data movement kernel, or print a block",
        )
    dtype = dtype_of(tensor)
    assert dtype is not None
    row = row_page_elements(tensor)
    if row is not None and row < tuple(tensor.shape)[-1]:
        raise not_yet("print() of a row-major tensor whose rows are cut by shards")
    return {
        "shows": "tensor",
        "heading": printing.tensor_heading(tensor.shape, tensor.dtype),
        "values": [builder.handles.tensor(tensor), _page_buffer(builder, dtype, row)],
    }


def _page_buffer(builder: KernelBuilder, dtype: DType, row: int | None) -> RunTime:
    """A page of L1 of this kernel's own for a page of a tensor: a tile, or a row of elements."""
    name = f"{builder.kernel.name}_{dtype.spelling}_page" + (f"_of_{row}" if row else "")
    layout = TILE_LAYOUT if row is None else ROW_MAJOR_LAYOUT
    type = ttl.DataflowBufferType.of((1, 1) if row is None else (row,), dtype, 1, layout)
    return builder.handles.named_buffer(name, type)
