"""Mistakes in pykernel programs: diagnostics that are also Python's TypeError or ValueError."""

from __future__ import annotations

from dataclasses import replace

from ttl.diagnostics import (
    CompileError,
    Diagnostic,
    KernelFault,
    RuleBroken,
    Span,
    TTLError,
    UsageError,
    WrongValue,
    codes,
)
from ttl.diagnostics.diagnostic import Code


class WrongType(UsageError, TypeError):
    """A value has the wrong type."""


class NotImplementedYet(UsageError, NotImplementedError):
    """An argument that is accepted by name but not implemented yet."""


class WrongShape(CompileError, KernelFault, ValueError):
    """Blocks that do not fit together, or an index beyond them, found compiling or running."""


SHAPES = (codes.SHAPE_MISMATCH, codes.MATMUL_SHAPES, codes.SLICE_OUT_OF_RANGE)


# Translate the language's helps into the words of this DSL.
WORDS = {
    "@ttl.datamovement() kernel": "@datamovement() thread",
    "@ttl.compute() kernel": "@compute() thread",
    "ttl.math.broadcast(x, dims=..., shape=...)": "bcast(x, block), if it has one column",
    "ttl.math.fill(": "fill(",
    "ttl.grid_size()": "the grid's rows and columns",
    "use smaller blocks, or a smaller block_count": "use a larger grid, which divides the tensors",
    "move a tensor to ttnn.DRAM_MEMORY_CONFIG, or shard it over more cores": (
        'write memory_space="DRAM"'
    ),
}


def in_words_of_pykernel(error: TTLError) -> TTLError:
    """Translate an error's helps; mistakes in shapes become ValueErrors too."""
    found = [replace(each, helps=tuple(map(_help, each.helps))) for each in error.diagnostics]
    is_shape = bool(found) and found[0].code in SHAPES
    return WrongShape(*found) if is_shape else type(error)(*found)


def _help(text: str) -> str:
    for theirs, ours in WORDS.items():
        text = text.replace(theirs, ours)
    return text


def wrong_type(message: str, help_text: str, span: Span | None) -> WrongType:
    return WrongType(diagnostic(message, help_text, span))


def wrong_value(
    message: str, help_text: str, span: Span | None, code: Code = codes.WRONG_ARGUMENT
) -> WrongValue:
    return WrongValue(diagnostic(message, help_text, span, code))


def diagnostic(
    message: str, help_text: str, span: Span | None, code: Code = codes.WRONG_ARGUMENT
) -> Diagnostic:
    return refused(message, help_text, code).at(span)


def refused(message: str, help_text: str, code: Code = codes.WRONG_ARGUMENT) -> RuleBroken:
    """Refuse something in a thread; the code that runs or compiles it adds the place."""
    return code.broken(message, help_text)
