"""What Python makes of lists, dicts, sets, texts and ranges with numbers that only the run knows.

Both ways give what Python gives, or the compiler says that it does not translate it; it never
compares, hashes or shows an object of its own in the place of a number.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ttl
from golden.example_programs import load_file
from ttl import ttnn
from ttl.config import chosen_options
from ttl.diagnostics import CompileError, TTLError

DEVICE = ttnn.open_device(device_id=0)
NODES = (0, 1)
PROGRAM = """import ttl


@ttl.operation(grid=(2, 1))
def operation(y):
    dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.compute()
    def compute():
        n = ttl.node(dims=1)
        STATEMENTS
        with dfb.reserve() as block:
            block.store(ttl.math.fill(found, shape=(1, 1)))

    @ttl.datamovement()
    def write():
        n = ttl.node(dims=1)
        with dfb.wait() as block:
            ttl.copy(block, y[0, n]).wait()
"""

COMPILED = (
    "found = [n, 1, 0].count(0)",
    "found = (n, 1, 0).count(0)",
    "found = [n, 1].index(1)",
    "found = (n, 1).index(1)",
    "found = [[n], [0]].count([0])",
    "x = [3, 4]\nfound = x.pop(n)",
    "x = [3, 4, 5]\nx.insert(n, 9)\nfound = x[0]",
    "x = {0: 1, 1: 2}\nfound = x.pop(n)",
    "x = {0: 1}\nfound = x.setdefault(n, 5)",
    "x = {0, 1}\nx.add(n)\nfound = len(x)",
    "x = {0, 1}\nx.discard(n)\nfound = len(x)",
    "found = len({n, 0})",
    "found = len(set([n, 0, 1]))",
    "found = len({k for k in [n, 0, 1]})",
    "found = len({0, 1} - {n})",
    "found = len({0, 1} | {n})",
    "found = len(dict([(n, 1), (0, 2)]))",
    "found = len({k: 1 for k in [n, 0]})",
    "found = ({'a': n} == {'a': 0}) + 1",
    "found = ({'a': n} != {'a': 0}) + 1",
    "found = ({'a': [n], 'b': 1} == {'b': 1, 'a': [0]}) + 1",
    "found = ({'a': n} == {'b': 0}) + 1",
    "found = ({'a': n} == 0) + 1",
    "found = (n in {0: n}) + 1",
    "found = (5 in {'a': n, 'b': 5}.values()) + 1",
    "found = (0 in {'a': n}.values()) + 1",
    "found = sum({'a': n, 'b': 5}.values())",
    "x = {'a': n}\ny = x.copy()\ny['b'] = 1\nfound = len(x)",
    "found = (range(3) == range(0, 3)) + 1",
    "found = (range(3) != range(0, 3)) + 1",
    "found = (range(0) == range(3, 3)) + 1",
    "found = len(str(range(3)))",
    "found = range(5)[n]",
    "found = range(5)[1:3][n]",
    "found = 0\nfor i in range(5)[::2]:\n    found = found * 10 + i",
    "found = len({range(3): 1, range(0, 3): 2})",
    "found = len(range(n, 5))",
    "found = len(range(5, n))",
    "found = len(range(5, n, -2))",
    "found = len(range(n, 9, n + 1))",
    "found = ('a' + f'{n}' == 'a0') + 1",
    "found = len(f'{n}' * 3)",
    "found = int(f'{n}') + 1",
    "found = isinstance(f'{n}', str) + 1",
)
NOT_COMPILED = (
    "x = [3, 4, 5]\nx.append(n)\nx.remove(n)\nfound = x[0]",
    "x = [n, 1, 0]\nx.sort()\nfound = x[0]",
    "found = len(str({'a': n}))",
    "found = len(repr([n, {'a': n}]))",
    "found = min((n, 3), key=lambda value: -value)",
    "found = len('%s' % [n])",
    "print([f'{n}'])\nfound = 0",
    "print(range(n), slice(n))\nfound = 0",
)


def load(statements: str, folder: Path):
    path = folder / "program.py"
    path.write_text(PROGRAM.replace("STATEMENTS", statements.replace("\n", "\n        ")))
    return load_file(path).operation


def run(operation, backend: str) -> list[float]:
    y = ttl.from_numpy(np.zeros((32, 64), np.float32), device=DEVICE)
    with chosen_options(backend=backend):
        operation(y)
    return ttl.to_numpy(y)[0, ::32].tolist()


def in_python(statements: str, n: int) -> float:
    names = {"n": n}
    exec(statements, names)
    return float(names["found"])


@pytest.mark.parametrize("statements", COMPILED)
def test_both_give_what_python_gives(statements: str, tmp_path) -> None:
    expected = [in_python(statements, n) for n in NODES]
    for backend in ("sim", "host"):
        assert run(load(statements, tmp_path), backend) == expected, backend


@pytest.mark.parametrize("statements", NOT_COMPILED)
def test_the_rest_is_refused_by_the_compiler_alone(statements: str, tmp_path) -> None:
    with pytest.raises(CompileError, match=r"TTL700[13]"):
        run(load(statements, tmp_path), "host")


OUTSIDE = ("m = n + 0\nfound = (n is m) + 1", "found = [TWO][0].item()")


@pytest.mark.parametrize("statements", OUTSIDE)
def test_what_no_kernel_has_is_refused_by_both(statements: str, tmp_path) -> None:
    torch = pytest.importorskip("torch")
    operation = load(statements, tmp_path)
    operation.function.__globals__["TWO"] = torch.tensor(2.0)
    for backend in ("sim", "host"):
        with pytest.raises(CompileError, match="TTL7003"):
            run(operation, backend)


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_the_type_of_elements_is_printed(backend: str, tmp_path, capsys) -> None:
    run(load("print(y.dtype, y.shape)\nfound = 0", tmp_path), backend)
    assert capsys.readouterr().out.count("DataType.FLOAT32") == len(NODES)


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_digits_that_are_no_number(backend: str, tmp_path) -> None:
    with pytest.raises(TTLError, match="TTL5002"):
        run(load("found = round(n, 'a')", tmp_path), backend)
