"""Wrong uses of the language that Python itself notices: said in the language's words."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import ttl
from ttl import ttnn

DEVICE = ttnn.open_device(device_id=0)
INTERNAL_NAMES = ("SimBlock", "SimExpression", "SimTransfer", "TensorTransfer", "object at 0x")


def compute_of(function):
    """`function` gets a waited block, a reserved one and the dataflow buffer of the first."""

    @ttl.operation(grid=(1, 1))
    def operation(a):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.compute()
        def compute():
            with a_dfb.wait() as x, y_dfb.reserve() as y:
                function(x, y, a_dfb)
                y.store(x)

        @ttl.datamovement()
        def read():
            with a_dfb.reserve() as block:
                ttl.copy(a[0, 0], block).wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as block:
                ttl.copy(block, a[0, 0]).wait()

    return operation


def movement_of(function):
    """`function` gets a tensor, a transfer under way, a semaphore and a pipe net."""

    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        semaphore = ttl.Semaphore()
        net = ttl.PipeNet([ttl.Pipe((0, 0), (0, 0))])

        @ttl.datamovement()
        def read():
            with dfb.reserve() as block:
                transfer = ttl.copy(a[0, 0], block)
                function(a, transfer, semaphore, net)
                transfer.wait()

    return operation


def set_item(x, y, dfb):
    y[0] = x


def set_shape(x, y, dfb):
    x.shape = (1, 1)


def iterate(x, y, dfb):
    for _ in x:
        pass


def unpack(x, y, dfb):
    _a, _b = x


def use_with(x, y, dfb):
    with x + 1:
        pass


IMPOSSIBLE = [
    (lambda x, y, dfb: 2**x, "2**x", "a block cannot be an exponent", "ttl.math.exp2(x)"),
    (lambda x, y, dfb: x[0], "x[0]", "a block cannot be indexed", "whole blocks"),
    (lambda x, y, dfb: (x + 1)[0], "(x + 1)[0]", "a block expression cannot be indexed", "whole"),
    (set_item, "y[0]", "a block cannot be changed by index", "block.store(expression)"),
    (set_shape, "x.shape", "`shape` of a block cannot be changed", "make_dataflow_buffer_like"),
    (iterate, None, "a block cannot be iterated over", "whole blocks"),
    (unpack, None, "a block cannot be iterated over", "whole blocks"),
    (lambda x, y, dfb: 1 in x, "1 in x", "a block cannot be iterated over", "whole blocks"),
    (lambda x, y, dfb: float(x), "float(x)", "a block is not one number", "block expressions"),
    (lambda x, y, dfb: int(x), "int(x)", "a block is not one number", "block expressions"),
    (lambda x, y, dfb: range(x), "range(x)", "a block is not one number", "block expressions"),
    (lambda x, y, dfb: [1][x], "[1][x]", "a block is not one number", "block expressions"),
    (lambda x, y, dfb: round(x), "round(x)", "a block is not one number", "block expressions"),
    (lambda x, y, dfb: f"{x:3}", None, "a block has no format", "print(block)"),
    (lambda x, y, dfb: x(), "x()", "a block is not a function", None),
    (lambda x, y, dfb: x & x, "x & x", "& does not work on a block and a block", "+ - * /"),
    (lambda x, y, dfb: x << 1, "x << 1", "<< does not work on a block and a value of type", "+ -"),
    (lambda x, y, dfb: ~x, "~x", "unary ~ does not work on a block", "-x"),
    (lambda x, y, dfb: np.exp(x), "np.exp(x)", "numpy does not compute with a block", "ttl.math"),
    (use_with, None, "a block expression cannot be used in a `with`", "reserve()"),
    (lambda x, y, dfb: dfb[0], "dfb[0]", "a dataflow buffer cannot be indexed", "wait()"),
    (lambda x, y, dfb: dfb + 1, "dfb + 1", "+ does not work on a dataflow buffer and", "wait()"),
    (lambda x, y, dfb: x > 1 and 1, None, "as many truth values as elements", "where(c, a, b)"),
]


@pytest.mark.parametrize(("mistake", "marked", "message", "instead"), IMPOSSIBLE)
def test_what_blocks_cannot_do(report, tensor, mistake, marked, message, instead) -> None:
    code = code_of(message)
    check(report(compute_of(mistake), tensor()), code, marked, message, instead)


def code_of(message: str) -> str:
    """Whether a block is indexed, or used like a number or a list."""
    others = ("a dataflow buffer", "in a `with`", "` of a block cannot be changed")
    if any(each in message for each in others):
        return "wrong-argument"
    return "block-indexed" if "index" in message else "block-in-python"


def check(found, code, marked, message, instead) -> None:
    assert found.code == code
    if marked is not None:
        assert found.primary == marked
    assert message in found.text
    assert instead is None or instead in found.text.partition("= help: ")[2]
    assert not any(name in found.text for name in INTERNAL_NAMES)


OPERANDS = [
    (lambda x, y, dfb: x + dfb, "x + dfb", "not on the dataflow buffer `a_dfb`", "wait()"),
    (lambda x, y, dfb: dfb + x, "dfb + x", "not on the dataflow buffer `a_dfb`", "wait()"),
    (lambda x, y, dfb: y.store(dfb), "y.store(dfb)", "the dataflow buffer `a_dfb`", "wait()"),
    (
        lambda x, y, dfb: np.ones((2, 3)) + x,
        "np.ones((2, 3)) + x",
        "operator + works on blocks and block expressions, not on a numpy ndarray of shape (2, 3)",
        "as a ttnn tensor",
    ),
    (
        lambda x, y, dfb: x @ np.ones((2, 3)),
        "x @ np.ones((2, 3))",
        "not on a numpy ndarray of shape (2, 3)",
        "as a ttnn tensor",
    ),
    (
        lambda x, y, dfb: np.ones((2, 3)) @ x,
        "np.ones((2, 3)) @ x",
        "operator @ works on blocks and block expressions, not on a numpy ndarray",
        "as a ttnn tensor",
    ),
]


@pytest.mark.parametrize(("mistake", "marked", "message", "instead"), OPERANDS)
def test_operands_that_are_no_blocks(report, tensor, mistake, marked, message, instead) -> None:
    check(report(compute_of(mistake), tensor()), "wrong-argument", marked, message, instead)


def test_numbers_of_numpy_are_operands_on_both_sides(simulate) -> None:
    a = ttnn.full((32, 32), 3, dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)

    def compute(x, y, dfb):
        y.store(np.float32(2) * x + x * np.int64(2))
        y + y  # it is stored into again

    simulate(compute_of(compute), a)
    assert ttl.to_numpy(a)[0, 0] == 3


CALLS = [
    (lambda x, y, dfb: y.store(), "y.store()", "Block.store() needs `value`", "Block.store(value)"),
    (lambda x, y, dfb: y.store(x, x), None, "Block.store() takes 1 argument, not 2", "store(value"),
    (lambda x, y, dfb: y.store(valu=x), None, "Block.store() has no argument `valu`", "(value)"),
    (lambda x, y, dfb: y.push(1), None, "Block.push() takes no arguments, not 1", "Block.push()"),
    (lambda x, y, dfb: dfb.wait(1, 2), None, "DataflowBuffer.wait() takes 1 argument, not 2", "="),
    (lambda x, y, dfb: ttl.math.exp(), None, "ttl.math.exp() needs `x`", "ttl.math.exp(x)"),
    (lambda x, y, dfb: ttl.math.exp(x, foo=1), None, "has no argument `foo`", "ttl.math.exp(x)"),
    (lambda x, y, dfb: ttl.node(1, 2), None, "ttl.node() takes 1 argument, not 2", "(dims=2)"),
    (lambda x, y, dfb: ttl.signpost(), None, "ttl.signpost() needs `name`", "ttl.signpost(name)"),
]


@pytest.mark.parametrize(("mistake", "marked", "message", "instead"), CALLS)
def test_wrong_calls_in_compute(report, tensor, mistake, marked, message, instead) -> None:
    check(report(compute_of(mistake), tensor()), "wrong-argument", marked, message, instead)


def set_attribute(a, t, s, net):
    t.foo = 1


def set_method(a, t, s, net):
    s.set = 1


MOVEMENT_CALLS = [
    (set_method, "s.set", "`set` of a semaphore cannot be changed", None),
    (lambda a, t, s, net: ttl.copy(a), "ttl.copy(a)", "ttl.copy() needs `dst`", "copy(src, dst)"),
    (lambda a, t, s, net: t.wait(1), "t.wait(1)", "Transfer.wait() takes no arguments", "wait()"),
    (lambda a, t, s, net: s.set(), "s.set()", "Semaphore.set() needs `value`", "set(value)"),
    (lambda a, t, s, net: s.wait_eq(1, 2), None, "takes 1 argument, not 2", "wait_eq(value)"),
    (lambda a, t, s, net: s.wait_ge(vale=1), None, "has no argument `vale`", "wait_ge(value)"),
    (lambda a, t, s, net: s.get_remote((0, 0)).inc(), None, "inc() needs `value`", "inc(value)"),
    (lambda a, t, s, net: net.if_src(), None, "PipeNet.if_src() needs `function`", "(function)"),
    (lambda a, t, s, net: ttl.GroupTransfer().add(), None, "needs `transfer`", "add(transfer)"),
    (lambda a, t, s, net: t[0], "t[0]", "a transfer cannot be indexed", None),
    (lambda a, t, s, net: len(net), "len(net)", "a pipe net has no length", None),
    (lambda a, t, s, net: s > 1, "s > 1", "> does not work on a semaphore and a value", None),
    (lambda a, t, s, net: a[0, 0] + 1, None, "+ does not work on a tensor slice", "ttl.copy("),
]


@pytest.mark.parametrize(("mistake", "marked", "message", "instead"), MOVEMENT_CALLS)
def test_wrong_calls_in_data_movement(report, tensor, mistake, marked, message, instead) -> None:
    code = "block-in-python" if "a tensor slice" in message else "wrong-argument"
    check(report(movement_of(mistake), tensor()), code, marked, message, instead)


def test_a_function_of_two_namespaces_is_named_as_it_was_called(report, tensor) -> None:
    for module, name in ((ttl.block, "ttl.block"), (ttl.math, "ttl.math")):
        for arguments in ((), (3, 0), (3,)):
            operation = compute_of(lambda x, y, dfb, m=module, args=arguments: m.squeeze(*args))
            text = report(operation, tensor()).text
            assert f"error[TTL1003]: {name}.squeeze() " in text


UNKNOWN = [
    (compute_of, lambda x, y, dfb: x.shap, "x.shap", "a block has no `shap`", "`shape`"),
    (compute_of, lambda x, y, dfb: (x + 1).shap, None, "a block expression has no", "`shape`"),
    (compute_of, lambda x, y, dfb: x.exp(), "x.exp", "a block has no `exp`", "ttl.math.exp(x)"),
    (compute_of, lambda x, y, dfb: x.T, "x.T", "a block has no `T`", "ttl.math.transpose(x)"),
    (compute_of, lambda x, y, dfb: dfb.rserve(), None, "buffer has no `rserve`", "`reserve`"),
    (movement_of, set_attribute, "t.foo", "a transfer has no `foo`", None),
    (movement_of, lambda a, t, s, net: t.wat(), "t.wat", "a transfer has no `wat`", "`wait`"),
    (movement_of, lambda a, t, s, net: a.shap, "a.shap", "tensor has no `shap`", "`shape`"),
    (movement_of, lambda a, t, s, net: s.inc(1), "s.inc", "a semaphore has no", "get_remote(coord"),
    (movement_of, lambda a, t, s, net: net.if_sorc(1), None, "a pipe net has no", "`if_src`"),
]


@pytest.mark.parametrize(("kind", "mistake", "marked", "message", "instead"), UNKNOWN)
def test_names_that_do_not_exist(report, tensor, kind, mistake, marked, message, instead) -> None:
    check(report(kind(mistake), tensor()), "unknown-name", marked, message, instead)


# What is not ours


class Block:
    def store(self, value):
        return value


def grid_size(dims):
    return dims


@pytest.mark.parametrize(
    "mistake",
    [
        lambda x, y, dfb: Block().store(),
        lambda x, y, dfb: Block()[0],
        lambda x, y, dfb: grid_size(),
        lambda x, y, dfb: [] + 1,
        lambda x, y, dfb: "".foo,
    ],
)
def test_exceptions_of_the_program_stay_its_own(report, tensor, mistake) -> None:
    assert report(compute_of(mistake), tensor()).code == "kernel-exception"


# In place


def multiply(x, y, dfb):
    y *= 2


def power_of_waited(x, y, dfb):
    x **= 2


@pytest.mark.parametrize(
    ("mistake", "marked", "instead"),
    [
        (multiply, "y *= 2", "block.store(block * value)"),
        (power_of_waited, "x **= 2", "block.store(block ** value)"),
    ],
)
def test_only_plus_changes_a_block_in_place(report, tensor, mistake, marked, instead) -> None:
    found = report(compute_of(mistake), tensor())
    check(found, "block-in-python", marked, "only by += and store()", instead)


def test_a_name_of_a_value_may_be_bound_anew(simulate) -> None:
    a = ttnn.full((32, 32), 3, dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)

    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.compute()
        def compute():
            value = ttl.math.fill(3)
            value *= 2
            value -= 1
            with dfb.reserve() as block:
                block.store(value)

        @ttl.datamovement()
        def write():
            with dfb.wait() as block:
                ttl.copy(block, a[0, 0]).wait()

    simulate(operation, a)
    assert ttl.to_numpy(a)[0, 0] == 5


# Blocks in the hands of other kernels


def sharing(use):
    """`read` puts a block where the kernel given by its kind finds it."""

    @ttl.operation(grid=(1, 1))
    def operation(a):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        shared = []

        @ttl.datamovement()
        def read():
            block = a_dfb.reserve()
            ttl.copy(a[0, 0], block).wait()
            shared.append(block)
            y_dfb.wait()

        if use == "copy":

            @ttl.datamovement()
            def other():
                ttl.copy(shared[0], a[0, 0]).wait()

        else:

            @ttl.compute()
            def other():
                if use == "store":
                    shared[0].store(ttl.math.fill(1))
                with y_dfb.reserve() as block:
                    block.store(shared[0])

    return operation


@pytest.mark.parametrize(
    ("use", "marked"),
    [
        ("copy", "ttl.copy(shared[0], a[0, 0])"),
        ("store", "shared[0].store(ttl.math.fill(1))"),
        ("read", "block.store(shared[0])"),
    ],
)
def test_a_block_belongs_to_the_kernel_that_acquired_it(report, tensor, use, marked) -> None:
    found = report(sharing(use), tensor())
    assert (found.code, found.primary) == ("buffer-ends", marked)
    assert "`other` uses a block of `a_dfb` that `read` acquired" in found.text
    assert found.marked("-") == ["a_dfb.reserve()"]


# The debugger

PROGRAM = """
import numpy as np
import ttl, ttnn

@ttl.operation(grid=(1, 1))
def operation(a):
    @ttl.datamovement()
    def kernel():
        breakpoint()
        ttl.node()

operation(ttnn.zeros((32, 32), ttnn.float32, ttnn.TILE_LAYOUT, ttnn.open_device(device_id=0)))
print("the program goes on")
"""


@pytest.mark.unwatched("a debugger asks for one call")
@pytest.mark.parametrize(("typed", "status"), [("c", 0), ("q", 1)])
def test_quitting_the_debugger_is_no_fault(tmp_path, typed: str, status: int) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(program)], input=f"{typed}\n", capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (status, "")
    assert ("the program goes on" in done.stdout) == (typed == "c")
