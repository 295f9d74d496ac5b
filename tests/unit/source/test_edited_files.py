"""What was loaded runs, whatever becomes of its file."""

from __future__ import annotations

import ast
import importlib
import linecache
import sys

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.diagnostics import TTLError
from ttl.semantics.function_source import function_tree

DEVICE = ttnn.open_device(device_id=0)

# Releases are left out, so the simulator needs the source, too.
PROGRAM = """
import ttl
{imports}

@ttl.operation(grid=(1, 1))
def scale(x, y):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.datamovement()
    def read():
        block = x_dfb.reserve()
        ttl.copy(x[0, 0], block)

    @ttl.compute()
    def compute():
        a = x_dfb.wait()
        b = y_dfb.reserve()
        b.store({value})

    @ttl.datamovement()
    def write():
        block = y_dfb.wait()
        ttl.copy(block, y[0, 0])
"""
HELPER = "def scaled(a):\n    return a * {factor}\n"
LATER = "\n\ndef make():\n" + PROGRAM.replace("\n", "\n    ") + "\n    return scale\n"

pytestmark = pytest.mark.parametrize("backend", ["sim", "host"])


@pytest.fixture
def load(tmp_path, monkeypatch, backend):
    """Writes a module and imports it."""
    monkeypatch.setenv("TTL_BACKEND", backend)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names = []

    def write(name: str, text: str):
        (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        names.append(name)

    def imported(name: str, text: str):
        write(name, text)
        sys.modules.pop(name, None)
        return importlib.import_module(name)

    imported.write = write
    yield imported
    for name in names:
        sys.modules.pop(name, None)


def program(value: str, imports: str = "") -> str:
    return PROGRAM.format(value=value, imports=imports)


def result(operation) -> float:
    x = ttl.from_numpy(np.full((32, 32), 3.0), dtype=ttnn.bfloat16, device=DEVICE)
    y = ttl.from_numpy(np.zeros((32, 32)), dtype=ttnn.bfloat16, device=DEVICE)
    operation(x, y)
    return float(y.to_numpy()[0, 0])


def test_a_file_that_is_edited_after_its_import(load) -> None:
    module = load("edited_program", program("a * 2"))
    load.write("edited_program", program("a * 200"))
    linecache.checkcache()
    assert result(module.scale) == 6


def test_a_file_that_is_not_python_any_more(load) -> None:
    module = load("broken_program", program("a * 2"))
    load.write("broken_program", "def scale(:\n")
    assert result(module.scale) == 6


def test_lines_that_are_inserted(load) -> None:
    module = load("longer_program", program("a * 2"))
    load.write("longer_program", "# a line\n" * 20 + program("a * 200"))
    assert result(module.scale) == 6


def test_the_file_of_a_helper(load) -> None:
    load("edited_helper", HELPER.format(factor=2))
    module = load("with_helper", program("scaled(a)", "from edited_helper import scaled"))
    load.write("edited_helper", HELPER.format(factor=200))
    linecache.checkcache()
    assert result(module.scale) == 6


def test_loaded_again_the_edited_text_runs_and_the_old_operation_is_what_it_was(load) -> None:
    first = load("reloaded_program", program("a * 2"))
    second = load("reloaded_program", program("a * 30"))
    assert [result(first.scale), result(second.scale), result(first.scale)] == [6, 90, 6]


def test_a_source_that_cannot_be_had_is_reported(load) -> None:
    """The operation is made after the edit: what it was made from is nowhere any more."""
    module = load("late_program", LATER.format(value="a * 2", imports=""))
    load.write("late_program", LATER.format(value="a * 200", imports=""))
    with pytest.raises(TTLError) as caught:
        result(module.make())
    assert {found.code.slug for found in caught.value.diagnostics} == {"no-source"}
    helps = {help for found in caught.value.diagnostics for help in found.helps}
    assert helps == {"late_program.py was changed after it was loaded: run again"}


def test_a_cell_that_is_run_again(backend, monkeypatch) -> None:
    monkeypatch.setenv("TTL_BACKEND", backend)
    name, operations = "<ipython-input-7-0123456789ab>", []
    for value in ("a * 2", "a * 30"):
        text = program(value)
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        names: dict[str, object] = {}
        exec(compile(text, name, "exec"), names)
        operations.append(names["scale"])
    assert [result(operation) for operation in operations] == [6, 90]


def test_a_cell_whose_statements_are_compiled_one_by_one(backend, monkeypatch) -> None:
    """As notebooks do. A call of a module's function is other code where the import is not seen."""
    monkeypatch.setenv("TTL_BACKEND", backend)
    name, text = "<ipython-input-8-0123456789ab>", program("a * 2")
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names: dict[str, object] = {}
    for statement in ast.parse(text).body:
        exec(compile(ast.Module([statement], []), name, "exec"), names)
    assert result(names["scale"]) == 6


def test_functions_with_asserts_which_pytest_rewrites(backend) -> None:
    def checked(x):
        y = x + 1
        assert y == x + 1, "never"
        return [z * 2 for z in (y, x)]

    def nested(x):
        def inner(y):
            assert y
            return y

        return inner(x)

    assert any(name.startswith("@py") for name in checked.__code__.co_names)
    assert function_tree(checked.__code__).name == "checked"
    assert function_tree(nested.__code__).name == "nested"


def test_lambdas_of_one_line(backend) -> None:
    both = (lambda x: x + 1 if x else 2), (lambda x: lambda y: y + x)
    trees = [function_tree(each.__code__) for each in (*both, both[1](1))]
    assert [tree.args.args[0].arg for tree in trees] == ["x", "x", "y"]
    assert len({tree.col_offset for tree in trees}) == 3
