"""The examples in the oldest, a middle and the newest spelling: the same bits on both backends.

The spellings are made of the present sources: names are replaced, and for the oldest one every
`with` becomes an acquire, and a push() or pop() of the buffer at its end.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttl
from golden.example_programs import DEVICE, EXAMPLES, OPERATIONS, load_file, sample_inputs
from ttl import ttnn
from ttl.driver import PROCESS_DRIVER
from ttl.driver.remarks import Remarks

MIDDLE = {  # version 0.10
    "ttl.operation": "ttl.kernel",
    "ttl.node": "ttl.core",
    "block_count": "buffer_factor",
    "ttl.block.broadcast": "ttl.math.broadcast",
}
OLDEST = MIDDLE | {"ttl.make_dataflow_buffer_like": "ttl.make_circular_buffer_like"}
FLAT = {f"ttl.math.{name}": f"ttl.{name}" for name in ("exp", "relu", "reduce_max", "reduce_sum")}
NEWEST = FLAT | {"ttl.block.broadcast": "ttl.broadcast", "ttl.math.fill": "ttl.block.fill"}
RELEASES = {"reserve": "push", "wait": "pop"}


class Renaming(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]):
        self.names = names

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        new = self.names.get(ast.unparse(node))
        return ast.parse(new, mode="eval").body if new else self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        self.generic_visit(node)
        node.arg = self.names.get(node.arg or "", node.arg)
        return node


class Oldest(Renaming):
    """Also without parentheses and `with`, and with releases of buffers."""

    def __init__(self, names: dict[str, str]):
        super().__init__(names)
        self.acquired: dict[str, str] = {}  # the buffer of each block, by the names of both

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        bare = [
            each.func
            if isinstance(each, ast.Call) and not each.args and not each.keywords
            else each
            for each in node.decorator_list
        ]
        node.decorator_list = bare
        return node

    def visit_With(self, node: ast.With) -> list[ast.stmt]:
        texts, releases = [], []
        for item in node.items:
            acquire = item.context_expr
            assert isinstance(acquire, ast.Call) and isinstance(acquire.func, ast.Attribute)
            texts.append(f"{ast.unparse(item.optional_vars)} = {ast.unparse(acquire)}")
            buffer = ast.unparse(acquire.func.value)
            releases.append(f"{buffer}.{RELEASES[acquire.func.attr]}()")
        self.generic_visit(node)
        return [*ast.parse("\n".join(texts)).body, *node.body, *ast.parse("\n".join(releases)).body]

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        acquire = node.value.func if isinstance(node.value, ast.Call) else None
        if isinstance(acquire, ast.Attribute) and acquire.attr in RELEASES:
            self.acquired[ast.unparse(node.targets[0])] = ast.unparse(acquire.value)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in RELEASES.values():
            buffer = self.acquired[ast.unparse(node.func.value)]
            return ast.parse(f"{buffer}.{node.func.attr}()", mode="eval").body
        return node


SPELLINGS: dict[str, Callable[[], Renaming]] = {
    "oldest": lambda: Oldest(OLDEST),
    "middle": lambda: Renaming(MIDDLE),
    "newest": lambda: Renaming(NEWEST),
}


def spelled(name: str, spelling: str, folder: Path) -> Any:
    """The operation of an example in another spelling."""
    source = (EXAMPLES / f"{name}.py").read_text()
    text = ast.unparse(SPELLINGS[spelling]().visit(ast.parse(source)))
    path = folder / f"{name}_{spelling}.py"
    path.write_text(text)
    (folder / "sample_inputs.py").write_bytes((EXAMPLES / "sample_inputs.py").read_bytes())
    return getattr(load_file(path), OPERATIONS[name])


def result(operation: Any) -> np.ndarray:
    """Of the sample whose tiles all differ; the last parameter is the output."""
    count = len(operation.signature.parameters)
    (_, arrays) = sample_inputs(count)[-1]
    tensors = [ttl.from_numpy(each, ttnn.bfloat16, device=DEVICE) for each in arrays]
    if operation.__name__ == "split_sum":
        tensors[-1] = ttnn.zeros((256, 64), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    operation(*tensors)
    return ttl.to_numpy(tensors[-1])


@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_spelling_gives_the_same_bits(
    name: str, backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("TTL_BACKEND", backend)
    expected = result(getattr(load_file(EXAMPLES / f"{name}.py"), OPERATIONS[name]))
    for spelling in SPELLINGS:
        monkeypatch.setattr(PROCESS_DRIVER, "remarks", Remarks())
        capsys.readouterr()
        found = result(spelled(name, spelling, tmp_path))
        assert found.tobytes() == expected.tobytes(), spelling
        text = capsys.readouterr().err
        assert text.count("note[TTL1018]") == (spelling != "newest"), text
        assert "TTL3010" not in text, text  # everything is written, in every spelling
