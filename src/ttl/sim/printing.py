"""print() in kernels: strings, scalars, and at most one tensor, block or dataflow buffer.

While a simulation runs, ours replaces `builtins.print`. Outside kernels, or with arguments that
only Python's print has, it calls Python's.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable
from typing import Any

from ttl.language.arguments import is_tensor
from ttl.language.block import BlockExpression
from ttl.language.buffer import DataflowBuffer
from ttl.loading.forks import WhileRunning
from ttl.semantics.current_engine import running_engine
from ttl.semantics.dtypes import dtype_of
from ttl.semantics.printing import (
    UNSET,
    array_text,
    block_heading,
    buffer_text,
    check_print,
    expression_heading,
    page_heading,
    printable,
    printed_unset,
    tensor_heading,
)

from .block import SimBlock
from .kernel import KernelRun
from .place import user_place


def _replace_print() -> Callable[[], None]:
    original, process = builtins.print, os.getpid()
    started: dict[KernelRun, str] = {}  # lines left open by `end=`

    def kernel_print(
        *values: object,
        num_pages: int = 1,
        sep: str | None = " ",
        end: str | None = "\n",
        flush: bool = False,
        thread: str | None = None,  # for the chip's threads; here a kernel has one
        **options: Any,
    ) -> None:
        running = running_engine(None)
        if not isinstance(running, KernelRun) or options:
            original(*values, sep=sep, end=end, flush=flush, **options)
            return
        line = started.pop(running, "") + text_of(running, values, num_pages, sep, end, thread)
        if line.endswith("\n"):
            write(running, line[:-1])
        else:
            started[running] = line

    def write(kernel: KernelRun, line: str) -> None:
        original(f"{kernel.coordinate} {kernel.name}:", printable(line))

    def undo() -> None:
        builtins.print = original
        for kernel, line in started.items() if os.getpid() == process else ():
            write(kernel, line)

    builtins.print = kernel_print
    return undo


language_print = WhileRunning(_replace_print)


def text_of(
    kernel: KernelRun,
    values: tuple[object, ...],
    num_pages: int,
    sep: str | None,
    end: str | None,
    thread: str | None = None,
) -> str:
    """Format strings and scalars in one line; objects of the language follow in their own."""
    check_print(sum(map(_is_language_object, values)), num_pages, sep, end, thread)
    texts = [_text(kernel, value, num_pages) for value in values]
    return (" " if sep is None else sep).join(texts) + ("\n" if end is None else end)


def _is_language_object(value: object) -> bool:
    return isinstance(value, (BlockExpression, DataflowBuffer)) or is_tensor(value)


def _text(kernel: KernelRun, value: Any, num_pages: int) -> str:
    if isinstance(value, DataflowBuffer):
        return _buffer_text(kernel, value)
    if isinstance(value, SimBlock):
        return _block_text(kernel, value)
    if isinstance(value, BlockExpression):
        return f"{expression_heading(value.type)}\n{array_text(value.array)}"  # type: ignore[attr-defined]
    if is_tensor(value):
        return _tensor_text(value, num_pages)
    return str(value)


def _block_text(kernel: KernelRun, block: SimBlock) -> str:
    heading = block_heading(block.name, block.type)
    if (unset := printed_unset(block, block.state)) is not None:
        kernel.simulation.tolerate(kernel, unset, user_place())
        return f"{heading}\n{UNSET}"
    block.settle()
    return f"{heading}\n{array_text(block.carry())}"


def _tensor_text(tensor: Any, num_pages: int) -> str:
    pages = tensor.storage.page_views(num_pages).astype(dtype_of(tensor).carrier)
    texts = [f"{page_heading(number)}\n{array_text(page)}" for number, page in enumerate(pages)]
    return tensor_heading(tensor.shape, tensor.dtype) + "\n".join(texts)


def _buffer_text(kernel: KernelRun, declared: DataflowBuffer) -> str:
    buffer = kernel.simulation.nodes[kernel.coordinate][declared.index]
    tiles, count = declared.block_tiles, declared.block_count
    fields = {
        "size": declared.size_bytes,
        "page_size": declared.size_bytes // (tiles * count),
        "num_pages": tiles * count,
        "rd_ptr": buffer.consumer.released % count * tiles,
        "wr_ptr": buffer.producer.released % count * tiles,
        "wr_tile_ptr": buffer.producer.acquired % count * tiles,
        "filled": buffer.filled,
    }
    return buffer_text(declared.name, fields)
