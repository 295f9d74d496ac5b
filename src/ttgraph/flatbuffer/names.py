"""Names of a program's inputs and outputs, in the signature text that a file has.

`func.func @main(tensor<4xf32> {ttir.name = "fc.weight"}) -> (tensor<4xf32> {ttir.name = "y"})`
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # not loaded by a process that runs a file
    from xdsl.dialects import func
    from xdsl.dialects.builtin import DictionaryAttr

NAME = "ttir.name"
_NAME = re.compile(rf'{re.escape(NAME)} = ("(?:[^"\\]|\\.)*")')


def attributes_of(names: Sequence[str]) -> list[DictionaryAttr]:
    """Return a function's attributes for arguments or results of these names."""
    from xdsl.dialects.builtin import DictionaryAttr, StringAttr

    return [DictionaryAttr({NAME: StringAttr(name)} if name else {}) for name in names]


def signature(function: func.FuncOp) -> str:
    """Return the signature's text; empty if nothing has a name."""
    block = function.body.block
    lists = [
        (function.arg_attrs, [each.type for each in block.args]),
        (function.res_attrs, list(function.function_type.outputs)),
    ]
    texts = [_list(attributes, len(types)) for attributes, types in lists]
    if not any(_NAME.search(text.replace('""', "")) for text in texts):
        return ""
    return f"func.func @{function.sym_name.data}({texts[0]}) -> ({texts[1]})"


def _list(attributes: Any, count: int) -> str:
    given = list(attributes) if attributes is not None else [None] * count
    names = [each.data.get(NAME) if each is not None else None for each in given]
    texts = ["" if each is None else each.data for each in names]
    return ", ".join(f"tensor {{{NAME} = {json.dumps(text)}}}" for text in texts)


def read_names(source: str, program: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the inputs' and the outputs' names, as many as the text has."""
    start = f"func.func @{program}("
    for line in source.splitlines():
        if line.startswith(start):
            inputs, _, outputs = line.partition(") -> (")
            return _parse_names(inputs), _parse_names(outputs)
    return (), ()


def _parse_names(text: str) -> tuple[str, ...]:
    try:
        return tuple(json.loads(each) for each in _NAME.findall(text))
    except ValueError:  # written by another tool
        return ()
