"""Show blocks in debuggers and notebooks: state in words, shape and first values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ttl.semantics.block_protocol import IN_WORDS
from ttl.semantics.dtypes import Array
from ttl.semantics.html import html_table
from ttl.semantics.printing import READABLE

if TYPE_CHECKING:
    from .block import SimBlock, SimExpression

FIRST = 4  # number of values shown


def block_text(block: SimBlock) -> str:
    facts = ", ".join(f"{name}: {value}" for name, value in _facts(block).items())
    return f"<{block}, {facts}>"


def block_html(block: SimBlock) -> str:
    facts = {name: value for name, value in _facts(block).items() if name != "values"}
    return html_table(str(block), facts, _floats(block.array) if _is_readable(block) else None)


def expression_text(value: SimExpression) -> str:
    return f"<a block expression, {value.type}, values: {_first(value.array)}>"


def _facts(block: SimBlock) -> dict[str, object]:
    state = f"{block.state.value} ({IN_WORDS[block.state]})"
    facts: dict[str, object] = {"state": state, "shape": block.shape, "dtype": block.dtype}
    if _is_readable(block):
        facts["values"] = _first(block.array)
    return facts


def _is_readable(block: SimBlock) -> bool:
    """Can the program read the values? Otherwise the block holds stale ones."""
    return block.state in READABLE


def _first(values: Array) -> str:
    shown = [f"{value:.6g}" for value in _floats(values).ravel()[:FIRST].tolist()]
    return f"[{' '.join(shown)}{' ...' * (values.size > FIRST)}]"


def _floats(values: Array) -> Array:
    numbers: Array = np.asarray(values).astype(np.float64)
    return numbers
