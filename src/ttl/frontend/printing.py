"""print() in a kernel: strings, scalars, and at most one tensor, block or dataflow buffer."""

from __future__ import annotations

from typing import Any, NamedTuple

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64

from ttl.diagnostics import codes
from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type
from ttl.language import DataflowBuffer
from ttl.semantics import printing
from ttl.semantics.dtypes import DType, dtype_of
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT
from ttl.semantics.tensor_like import TensorLike
from ttl.semantics.tensors import row_page_elements

from .builder import KernelBuilder
from .hir import BlockValue, HeldBlock, RunTime, SliceValue, Value, is_run_time, kind_of
from .in_python import in_python
from .problems import describe, not_in_kernels, not_yet
from .texts import RunTimeText
from .value_ranges import of_this_path

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
        elif isinstance(value, (tuple, list, dict)) and is_run_time(value):
            self._items(builder, value)
        elif isinstance(value, RunTime):
            self._field(builder, value)
        else:
            self.format += escaped(str(of_this_path(builder, in_python(str, value))))

    def _items(self, builder: KernelBuilder, items: Any) -> None:
        """Add the items of a tuple, list or dict, as Python shows them."""
        is_dict = isinstance(items, dict)
        self.format += escaped("{") if is_dict else str(type(items)())[0]
        for number, (key, item) in enumerate(items.items() if is_dict else enumerate(items)):
            self.format += (", " if number else "") + (escaped(f"{key!r}: ") if is_dict else "")
            if isinstance(item, RunTimeText):
                raise not_in_kernels(f"print() of {describe(item)} in {describe(items)}")
            self.add(builder, item if is_run_time(item) else repr(item))
        self.format += "," if isinstance(items, tuple) and len(items) == 1 else ""
        self.format += escaped("}") if is_dict else str(type(items)())[1]

    def _field(self, builder: KernelBuilder, value: RunTime, spec: str = "") -> None:
        if kind_of(value) is None:
            raise codes.NOT_IN_KERNELS.broken(f"print() inside a text of {describe(value)}")
        self.format += f"{{:{spec}}}" if spec else "{}"
        self.values.append(value)
        builder.tells_kinds = True


def escaped(text: str) -> str:
    return printing.printable(text).replace("{", "{{").replace("}", "}}")


def print_values(
    builder: KernelBuilder,
    *values: Value,
    num_pages: Any = None,
    sep: Any = None,
    end: Any = None,
    thread: Any = None,
    flush: Value = None,
    **others: Value,
) -> None:
    if others:
        raise not_in_kernels(
            f"print() with {', '.join(f'{name}=' for name in others)}",
            "give print() values, sep=, end= and thread=, and num_pages= beside a tensor",
        )
    if is_run_time((num_pages, sep, end, thread)) or isinstance(sep, RunTimeText):
        raise not_in_kernels("print() with options that are known only at run time")
    num_pages = 1 if num_pages is None else num_pages
    objects = [value for value in values if _is_object(builder, value)]
    printing.check_print(len(objects), num_pages, sep, end, thread)
    before, after = _lines(builder, values, escaped(" " if sep is None else sep))
    shown = [_shown(builder, value) for value in objects]
    texts = {"before": before.format, "after": after.format}
    for kind, heading, _ in shown:
        texts |= {"shows": kind, "heading": heading}
    if end not in (None, "\n"):
        texts["end"] = escaped(end)
    if thread is not None:
        texts["thread"] = thread
    numbers = {"position": len(before.values), "num_pages": num_pages}
    builder.emit(
        ttl.PrintOp,
        [*before.values, *(value for each in shown for value in each.values), *after.values],
        {name: StringAttr(text) for name, text in texts.items()}
        | {name: IntegerAttr(number, i64) for name, number in numbers.items()},
    )


def _lines(builder: KernelBuilder, values: tuple[Value, ...], between: str) -> tuple[_Line, _Line]:
    """Format the texts before and after the object to show."""
    line = before = _Line()
    after = _Line()
    for number, value in enumerate(values):
        line.format += between if number else ""
        if _is_object(builder, value):
            line = after
        else:
            line.add(builder, value)
    return before, after


def _is_object(builder: KernelBuilder, value: Value) -> bool:
    if isinstance(value, RunTime):
        return kind_of(value) is None
    return isinstance(value, DataflowBuffer) or builder.is_tensor(value)


class _Shown(NamedTuple):
    kind: str
    heading: str
    values: list[RunTime]


def _shown(builder: KernelBuilder, value: Value) -> _Shown:
    if isinstance(value, DataflowBuffer):
        return _Shown("buffer", _buffer_heading(value), [builder.handles.buffer(value)])
    if builder.is_tensor(value):
        return _tensor(builder, value)
    if isinstance(value, HeldBlock):
        buffers = builder.handles.buffers.items()
        name = next(name for name, handle in buffers if handle is value.buffer)
        return _Shown("block", printing.block_heading(name, block_type(value.type)), [value])
    if isinstance(value, BlockValue) and not isinstance(value, SliceValue):
        return _Shown("block", printing.expression_heading(block_type(value.type)), [value])
    raise not_yet(f"print() of {describe(value)}")


def _buffer_heading(buffer: DataflowBuffer) -> str:
    pages = buffer.block_tiles * buffer.block_count
    fields: dict[str, object] = {
        "size": buffer.size_bytes,
        "page_size": buffer.size_bytes // pages,
        "num_pages": pages,
        **dict.fromkeys(POINTERS, "{}"),
    }
    return printing.buffer_text(buffer.name, fields)


def _tensor(builder: KernelBuilder, tensor: TensorLike) -> _Shown:
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
    values = [builder.handles.tensor(tensor), _page_buffer(builder, dtype, row)]
    return _Shown("tensor", printing.tensor_heading(tensor.shape, tensor.dtype), values)


def _page_buffer(builder: KernelBuilder, dtype: DType, row: int | None) -> RunTime:
    """Return a page of L1 that this kernel owns for a tile, or a row of elements, of a tensor."""
    name = f"{builder.kernel.name}_{dtype.spelling}_page" + (f"_of_{row}" if row else "")
    layout = TILE_LAYOUT if row is None else ROW_MAJOR_LAYOUT
    type = ttl.DataflowBufferType.of((1, 1) if row is None else (row,), dtype, 1, layout)
    return builder.handles.named_buffer(name, type)
