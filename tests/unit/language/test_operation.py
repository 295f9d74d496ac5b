"""Parameters of operations, their options, and bodies that ask for the node."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from ttl import sim, ttnn
from ttl.diagnostics import UsageError
from ttl.semantics.compiler_options import SWITCHES, parse_options
from ttl.target import load

DEVICE = ttnn.open_device(device_id=0)

TARGET = load("wormhole_b0")


def tensor(rows: int = 32, columns: int = 32) -> ttnn.Tensor:
    return ttl.from_numpy(np.ones((rows, columns)), dtype=ttnn.float32, device=DEVICE)


def program_of(operation, *args, environment_options=None, **kwargs):
    return operation.program(args, kwargs, TARGET.default_grid, environment_options)


def empty_operation(**parameters):
    @ttl.operation(**parameters)
    def operation(a, factor=3, *, name="x"):
        @ttl.datamovement()
        def kernel():
            pass

    return operation


def test_options_of_later_layers_win() -> None:
    assert parse_options() == SWITCHES
    options = parse_options("--no-ttl-maximize-dst --ttl-l1-budget 100", "--ttl-l1-budget=200")
    assert options["ttl-maximize-dst"] is False
    assert options["ttl-l1-budget"] == 200
    assert parse_options("--no-ttl-maximize-dst", None, "--ttl-maximize-dst") == SWITCHES


def test_decorator_environment_call_in_this_order() -> None:
    operation = empty_operation(options="--ttl-l1-budget 1")
    assert program_of(operation, tensor()).options["ttl-l1-budget"] == 1
    program = program_of(operation, tensor(), environment_options="--ttl-l1-budget 2")
    assert program.options["ttl-l1-budget"] == 2
    program = program_of(
        operation, tensor(), environment_options="--ttl-l1-budget 2", options="--ttl-l1-budget 3"
    )
    assert program.options["ttl-l1-budget"] == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("--ttl-l1-budgt 5", "did you mean --ttl-l1-budget?"),
        ("--ttl-l1-budget many", "--ttl-l1-budget needs a number, not 'many'"),
    ],
)
def test_wrong_options_are_explained(given: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        program_of(empty_operation(), tensor(), options=given)
    assert message in str(caught.value) and caught.value.code == "TTL6021"


def test_the_l1_budget_option_is_obeyed() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def kernel():
            pass

    sim.run(program_of(operation, tensor()), target=TARGET)
    program = program_of(operation, tensor(), options="--ttl-l1-budget 8191")
    with pytest.raises(UsageError, match="need 8192 bytes of L1; a node of wormhole_b0 has 8191"):
        sim.run(program, target=TARGET)


def test_constants_and_keywords() -> None:
    program = program_of(empty_operation(), a=tensor(), factor=7, name="y")
    assert (program.arguments["factor"], program.arguments["name"]) == (7, "y")
    assert list(program.tensors) == ["a"]


def test_grids() -> None:
    assert program_of(empty_operation(), tensor()).grid == (8, 8)
    assert program_of(empty_operation(grid="full"), tensor()).grid == (8, 8)
    assert program_of(empty_operation(grid=(2, 3)), tensor()).grid == (2, 3)
    by_size = empty_operation(grid=lambda a, factor, name: (a.shape[0] // 32, factor))
    assert program_of(by_size, tensor(64), factor=2).grid == (2, 2)
    wrong = empty_operation(grid=lambda a, factor, name: [1, 1])
    with pytest.raises(UsageError, match=r"grid=\[1, 1\]: not a grid"):
        program_of(wrong, tensor())


def test_math_fidelity_is_checked() -> None:
    assert empty_operation(math_fidelity="LoFi").math_fidelity == "LoFi"
    with pytest.raises(UsageError, match="use one of LoFi, HiFi2, HiFi3, HiFi4"):
        empty_operation(math_fidelity="HiFi5")


def test_a_body_that_asks_for_the_node_runs_for_every_node() -> None:
    @ttl.operation(grid=(2, 2))
    def operation(a, y):
        buffer = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        column, row = ttl.node()
        number = ttl.node(dims=1)

        @ttl.datamovement()
        def read():
            with buffer.reserve() as block:
                ttl.copy(a[1 - row, 1 - column], block).wait()

        @ttl.datamovement()
        def write():
            assert number == column * 2 + row
            with buffer.wait() as block:
                ttl.copy(block, y[row, column]).wait()

    a = ttl.from_numpy(np.arange(64 * 64).reshape(64, 64) % 97, dtype=ttnn.float32, device=DEVICE)
    y = ttnn.empty_like(a)
    program = program_of(operation, a, y)
    assert sorted(program.kernels_by_node) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    sim.run(program, target=TARGET)
    tiles = ttl.to_numpy(a).reshape(2, 32, 2, 32)
    assert np.array_equal(ttl.to_numpy(y).reshape(2, 32, 2, 32), tiles[::-1, :, ::-1])


def test_nodes_may_not_declare_different_things() -> None:
    @ttl.operation(grid=(2, 1))
    def operation(a):
        column, _ = ttl.node()
        ttl.make_dataflow_buffer_like(a, shape=(1, 1 + column))

        @ttl.datamovement()
        def kernel():
            pass

    with pytest.raises(UsageError, match=r"other kernels or buffers on node \(1, 0\)"):
        program_of(operation, tensor())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (np.int64(3), 3),
        (np.uint8(3), 3),
        (np.float32(2.5), 2.5),
        (np.float64(2.5), 2.5),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
    ],
)
def test_numbers_of_numpy_become_constants_of_python(given, expected) -> None:
    factor = program_of(empty_operation(), tensor(), given).arguments["factor"]
    assert (type(factor), factor) == (type(expected), expected)
