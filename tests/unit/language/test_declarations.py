"""Mistakes in declaring kernels, buffers and grids."""

from __future__ import annotations

import pytest

import ttl
from ttl import ttnn
from ttl.config import chosen_options
from ttl.diagnostics import KernelFault, TTLError, UsageError

DEVICE = ttnn.open_device(device_id=0)


def tensor() -> ttnn.Tensor:
    return ttnn.ones((32, 32), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)


def test_a_generator_is_no_kernel() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        @ttl.datamovement()
        def kernel():
            yield 5

    with pytest.raises(UsageError, match="kernel `kernel` is a generator or a coroutine"):
        operation(tensor())


def test_a_kernel_has_no_parameters() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        @ttl.datamovement()
        def kernel(x):
            pass

    with pytest.raises(UsageError, match="kernel `kernel` has parameters"):
        operation(tensor())


def test_neither_kernels_nor_operations_return_values() -> None:
    @ttl.operation(grid=(1, 1))
    def kernel_returns(a):
        @ttl.datamovement()
        def kernel():
            return 5

    @ttl.operation(grid=(1, 1))
    def operation_returns(a):
        @ttl.datamovement()
        def kernel():
            pass

        return a

    with pytest.raises(KernelFault, match="kernel `kernel` returns a value") as kernels:
        kernel_returns(tensor())
    assert "return 5" in str(kernels.value)  # not the decorator
    with pytest.raises(UsageError, match="operation_returns returns a value") as operations:
        operation_returns(tensor())
    assert "        return a\n" in str(operations.value)


@ttl.operation(grid=(1, 1))
def two(a, y, n=1):
    @ttl.datamovement()
    def kernel():
        pass


class Holder:
    @ttl.operation(grid=(1, 1))
    def method(self, a):
        pass


WRONG_CALLS = {
    "too few": (lambda a: two(a), "two() needs `y`"),
    "too many": (lambda a: two(a, a, 1, 2), "two() takes 3 arguments, not 4"),
    "an unknown one": (lambda a: two(a, z=a), "two() has no argument `z`"),
    "one twice": (lambda a: two(a, a, a=a), "two() got two values for `a`"),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_wrong_calls_of_operations_show_how_they_are_called(name: str) -> None:
    call, message = WRONG_CALLS[name]
    with pytest.raises(UsageError) as caught:
        call(tensor())
    (found,) = caught.value.diagnostics
    assert (found.message, found.helps) == (message, ("write two(a, y, n=1)",))
    assert found.primary is not None and "lambda a: two(" in str(caught.value)


def test_operations_are_no_methods() -> None:
    with pytest.raises(UsageError, match="method is a method, and is called without") as caught:
        Holder().method(tensor())
    assert "        Holder().method(tensor())\n" in str(caught.value)


def test_wrong_calls_of_functions_show_how_they_are_called() -> None:
    def helper(one, other=2):
        pass

    @ttl.operation(grid=(1, 1))
    def operation(a):
        @ttl.datamovement()
        def kernel():
            helper(1, 2, 3)

    for backend in ("sim", "host"):
        with chosen_options(backend=backend), pytest.raises(TTLError) as caught:
            operation(tensor())
        (found,) = caught.value.diagnostics
        assert found.helps == ("write helper(one, other=2)",), backend


def test_a_lambda_is_not_compiled_as_a_kernel() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        ttl.datamovement()(lambda: None)

    for backend in ("sim", "host"):
        with chosen_options(backend=backend), pytest.raises(TTLError) as caught:
            operation(tensor())
        assert "error[TTL7002]: a kernel that is a lambda is not compiled" in str(caught.value)
        assert "        ttl.datamovement()(lambda: None)\n" in str(caught.value)


def test_a_buffer_of_another_call_is_refused() -> None:
    kept = []

    @ttl.operation(grid=(1, 1))
    def operation(a):
        kept.append(ttl.make_dataflow_buffer_like(a, shape=(1, 1)))
        first = kept[0]

        @ttl.datamovement()
        def kernel():
            with first.reserve() as block:
                ttl.copy(a[0, 0], block).wait()
            with first.wait() as block:
                ttl.copy(block, a[0, 0]).wait()

    operation(tensor())
    with pytest.raises(KernelFault, match="`first` is a dataflow buffer of another call"):
        operation(tensor())


def test_a_row_major_buffer_of_one_dimension_may_have_a_number_as_shape() -> None:
    shapes = []

    @ttl.operation(grid=(1, 1))
    def operation(a):
        shapes.append(ttl.make_dataflow_buffer_like(a, shape=7).shape)

        @ttl.datamovement()
        def kernel():
            pass

    operation(ttnn.ones((7,), ttnn.float32, layout=ttnn.ROW_MAJOR_LAYOUT, device=DEVICE))
    assert shapes == [(7,)]


def test_a_grid_function_gets_the_arguments_as_the_operation_does() -> None:
    grids = []

    @ttl.operation(grid=lambda a, k, *, z: (k, z))
    def operation(a, k, *, z=3):
        grids.append(ttl.grid_size())

        @ttl.datamovement()
        def kernel():
            pass

    operation(tensor(), 2)
    assert grids == [(2, 3)]


def test_an_operation_is_not_called_in_a_kernel() -> None:
    @ttl.operation(grid=(1, 1))
    def inner(a):
        @ttl.datamovement()
        def kernel():
            pass

    @ttl.operation(grid=(1, 1))
    def operation(a):
        @ttl.datamovement()
        def kernel():
            inner(a)

    for backend in ("sim", "host"):
        with (
            chosen_options(backend=backend),
            pytest.raises(TTLError, match=r"TTL1003(.|\n)*operation inner is called in a kernel"),
        ):
            operation(tensor())


def test_a_multi_kernel_operation_is_not_called_in_the_body_of_another() -> None:
    @ttl.operation(grid=(1, 1))
    def inner(a):
        @ttl.datamovement()
        def kernel():
            pass

    @ttl.operation(grid=(1, 1))
    def operation(a):
        inner(a)

    with pytest.raises(UsageError, match="`inner` is a multi-kernel operation") as caught:
        operation(tensor())
    assert "|         inner(a)" in str(caught.value)


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda a: ttl.Semaphore(1, 2), "ttl.Semaphore() takes 1 argument, not 2"),
        (lambda a: ttl.Pipe(src=0, dest=1), "ttl.Pipe() has no argument `dest`"),
        (lambda a: ttl.Pipe(src=0, dest=1), "did you mean `dst`?"),
        (lambda a: ttl.PipeNet(), "ttl.PipeNet() needs `pipes`"),
        (lambda a: ttl.grid_size(1, 2), "ttl.grid_size() takes 1 argument, not 2"),
        (lambda a: ttl.Semaphore().foo, "a semaphore has no `foo`"),
        (lambda a: ttl.make_dataflow_buffer_like(a, (1, 1))[0], "buffer cannot be indexed"),
    ],
)
def test_wrong_calls_in_the_body_are_explained(declare, message) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        declare(a)

    with pytest.raises(UsageError) as caught:
        operation(tensor())
    assert message in str(caught.value)
    assert "^" in str(caught.value)


def test_other_exceptions_in_the_body_pass() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        return "a" + 1

    with pytest.raises(TypeError, match="can only concatenate"):
        operation(tensor())


NUMBERS = [0]
BY_NAME: dict = {}


@pytest.mark.parametrize("what", ["item", "append", "dict", "delete"])
def test_writing_to_a_global_container_is_a_warning(capsys, what: str) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        if what == "item":

            @ttl.datamovement()
            def kernel():
                NUMBERS[0] += 1

        elif what == "append":

            @ttl.datamovement()
            def kernel():
                NUMBERS.append(1)

        elif what == "dict":

            @ttl.datamovement()
            def kernel():
                BY_NAME["x"] = 1

        else:

            @ttl.datamovement()
            def kernel():
                del NUMBERS[-1]

    operation(tensor())
    name = "BY_NAME" if what == "dict" else "NUMBERS"
    message = f"warning[TTL1016]: kernel `kernel` writes `{name}`, which is global"
    assert message in capsys.readouterr().err


def test_reading_globals_and_writing_own_containers_is_fine(capsys) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        @ttl.datamovement()
        def kernel():
            own = [*NUMBERS]
            own.append(1)

            def inner(NUMBERS):
                NUMBERS.append(2)
                NUMBERS[0] = len(NUMBERS)

            inner(own)
            assert BY_NAME.get("y") is None

    operation(tensor())
    assert capsys.readouterr().err == ""


def test_rebinding_what_is_around_a_kernel_is_a_warning(capsys) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        count = 0

        @ttl.datamovement()
        def kernel():
            nonlocal count
            count += 1

    operation(tensor())
    assert "warning[TTL1016]: kernel `kernel` writes `count`" in capsys.readouterr().err
