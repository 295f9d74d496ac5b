"""The output of print() in a kernel and the rules for its arguments, equal on all engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ttl.diagnostics import RuleBroken, codes, wrong_argument

from .block_protocol import Event, State, illegal

PRECISION = 6  # digits after the point
THRESHOLD = 64  # larger arrays show only their edges
EDGE_ITEMS = 2
THREADS = ("unpack", "math", "pack")  # of a compute kernel


def check_print(
    object_count: int,
    num_pages: object,
    sep: object = None,
    end: object = None,
    thread: object = None,
) -> None:
    """Raise RuleBroken if an argument of print() other than strings and scalars is wrong."""
    if object_count > 1:
        raise wrong_argument(
            "print() takes at most one tensor, block or dataflow buffer", "print them one by one"
        )
    if isinstance(num_pages, bool) or not isinstance(num_pages, int) or num_pages < 1:
        raise wrong_argument(
            f"num_pages={num_pages!r}: print() shows one or more pages of a tensor",
            "write for example print(tensor, num_pages=2)",
        )
    for name, given in (("sep", sep), ("end", end)):
        if given is not None and not isinstance(given, str):
            raise wrong_argument(f"{name}={given!r}: print() takes a string there")
    if thread not in (None, *THREADS):
        raise wrong_argument(
            f"thread={thread!r}: a compute kernel has the threads {', '.join(THREADS)}",
            'write for example print(i, thread="math"), or leave thread= out',
        )


def printable(text: str) -> str:
    """Escape surrogates (halves of characters), which UTF-8 cannot encode."""
    return text.encode("utf-8", "backslashreplace").decode()


READABLE = (State.MUST_READ, State.READ_WRITE, State.READ_BY_TRANSFERS)
UNSET = "unset"  # printed instead of elements


def printed_unset(block: object, state: State) -> RuleBroken | None:
    """Return a warning if the block is unset; raise RuleBroken if it was released."""
    if state in READABLE:
        return None
    if state is State.RELEASED:
        raise illegal(state, Event.READ, block)
    return codes.PRINTED_UNSET.broken(
        f"{block} is printed before it holds data",
        "print it after store(), or after the wait() of the copy that writes it",
        subject=block,
    )


def block_heading(buffer: str, type: object) -> str:
    return f"the block of `{buffer}` {type}:"


def expression_heading(type: object) -> str:
    return f"{type}:"


def tensor_heading(shape: Sequence[int], dtype: object) -> str:
    return f"tensor {tuple(shape)} {dtype}, "


def page_heading(number: int) -> str:
    return f"page {number}:"


def buffer_text(name: str, fields: Mapping[str, object]) -> str:
    """Show the fields of the chip's circular buffer; pointers count tiles from its start."""
    listed = " ".join(f"{field}={value}" for field, value in fields.items())
    return f"dataflow buffer `{name}`: {listed}"


def array_text(array: object, **options: Any) -> str:
    return np.array2string(
        np.asarray(array),
        precision=PRECISION,
        threshold=THRESHOLD,
        edgeitems=EDGE_ITEMS,
        max_line_width=1 << 20,  # compiled kernels could not know where lines break
        **options,
    )


def array_pattern(shape: Sequence[int]) -> str:
    """Return the text of an array with `<n>` for element n, counted row by row."""
    count = 1
    for size in shape:
        count *= size
    numbers = np.arange(count, dtype=np.int64).reshape(tuple(shape))
    return array_text(numbers, formatter={"int": lambda number: f"<{number}>"})


def number_texts(numbers: object) -> list[str]:
    """Return the elements as `array_text` writes them in one array, all of the same width."""
    flat = np.asarray(numbers).reshape(-1)
    if not flat.size:
        return []
    text = np.array2string(
        flat, precision=PRECISION, threshold=flat.size + 1, max_line_width=1 << 30
    )[1:-1]
    step = (len(text) + 1) // flat.size
    return [text[start : start + step - 1] for start in range(0, len(text), step)]
