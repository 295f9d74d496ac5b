"""print() in kernels: strings, scalars, and at most one tensor, block or dataflow buffer.

While a simulation runs, `builtins.print` is ours; outside kernels and with arguments that only
Python's print has, it is Python's.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from ttl.diagnostics import RuleBroken, codes
from ttl.language.block import BlockExpression
from ttl.language.buffer import DataflowBuffer
from ttl.semantics.block_protocol import State
from ttl.semantics.current_engine import ENGINE

from .block import SimBlock
from .expressions import carried
from .kernel import KernelRun
from .nesting import WhileRunning

READABLE = (State.MUST_READ, State.READ_WRITE, State.READ_BY_TRANSFERS)


def _replace_print() -> Callable[[], None]:
    original = builtins.print

    def kernel_print(*values: Any, num_pages: int = 1, **options: Any) -> None:
        running = ENGINE.get(None)
        if isinstance(running, KernelRun) and not options:
            original(f"{running.coordinate} {running.name}:", text_of(running, values, num_pages))
        else:
            original(*values, **options)

    def undo() -> None:
        builtins.print = original

    builtins.print = kernel_print
    return undo


language_print = WhileRunning(_replace_print)


def text_of(kernel: KernelRun, values: tuple[Any, ...], num_pages: int) -> str:
    """One line for strings and scalars; an object of the language follows on its own lines."""
    if sum(map(_is_language_object, values)) > 1:
        raise RuleBroken(
            codes.WRONG_ARGUMENT,
            "print() takes at most one tensor, block or dataflow buffer",
            helps=("print them one by one",),
        )
    if not isinstance(num_pages, int) or num_pages < 1:
        raise RuleBroken(
            codes.WRONG_ARGUMENT,
            f"num_pages={num_pages!r}: print() shows one or more pages of a tensor",
            helps=("write for example print(tensor, num_pages=2)",),
        )
    return " ".join(_text(kernel, value, num_pages) for value in values)


def _is_language_object(value: Any) -> bool:
    return isinstance(value, (BlockExpression, DataflowBuffer)) or hasattr(value, "storage")


def _text(kernel: KernelRun, value: Any, num_pages: int) -> str:
    if isinstance(value, DataflowBuffer):
        return _buffer_text(kernel, value)
    if isinstance(value, SimBlock):
        return _block_text(value)
    if isinstance(value, BlockExpression):
        return f"{value.type}:\n{_array_text(value.array)}"  # type: ignore[attr-defined]
    if hasattr(value, "storage"):
        return _tensor_text(value, num_pages)
    return str(value)


def _array_text(array: Any) -> str:
    return np.array2string(np.asarray(array), precision=6, threshold=64, edgeitems=2)


def _block_text(block: SimBlock) -> str:
    if block.state not in READABLE:
        raise RuleBroken(
            codes.BLOCK_STATE,
            f"{block} cannot be printed now: it holds no data",
            helps=("print it after it was written, and before it is released",),
        )
    block.settle()
    return f"{block} {block.type}:\n{_array_text(carried(block))}"


def _tensor_text(tensor: Any, num_pages: int) -> str:
    pages = tensor.storage.page_views(num_pages)
    texts = [f"page {number}:\n{_array_text(page)}" for number, page in enumerate(pages)]
    return f"tensor {tuple(tensor.shape)} {tensor.dtype}, " + "\n".join(texts)


def _buffer_text(kernel: KernelRun, declared: DataflowBuffer) -> str:
    """The fields of the chip's circular buffer; pointers count tiles from the buffer's start."""
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
    listed = " ".join(f"{name}={value}" for name, value in fields.items())
    return f"dataflow buffer `{declared.name}`: {listed}"
