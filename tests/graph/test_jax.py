"""Functions of jax: every text that jax has of them is read, and runs as jax.jit computes it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ttl
from jax_functions import CASES, by_name
from ttgraph.flatbuffer import Runtime, compile_module
from ttgraph.jax import compile as compile_jax
from ttgraph.stablehlo import read_module
from ttl.dialects import print_module

NEAR = 2e-5  # beside 1 and the number itself: both sides compute in float32


def texts(case):
    jitted = jax.jit(case.function, keep_unused=True)
    lowered = jitted.lower(*case.arguments)
    exported = jax.export.export(jitted)(*case.arguments)
    return {
        "jit": lowered.as_text(),
        "debug": lowered.as_text(debug_info=True),
        "export": str(exported.mlir_module()),
    }


def check(found, expected):
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True)
    for mine, wanted in pairs:
        assert mine.shape == wanted.shape
        mine, wanted = (np.asarray(each).astype(np.float64) for each in (mine, wanted))
        np.testing.assert_allclose(mine, wanted, rtol=NEAR, atol=NEAR)


def cases():
    return [pytest.param(each, id=each.name) for each in CASES]


def test_there_are_enough_functions():
    assert len(CASES) >= 42


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", cases())
def test_runs_as_jit(case):
    expected = jax.jit(case.function)(*case.arguments)
    found = compile_jax(case.function)(*case.arguments)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    kinds = [[each.dtype for each in jax.tree.leaves(tree)] for tree in (found, expected)]
    assert kinds[0] == kinds[1]
    check(found, expected)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", cases())
def test_every_text_is_read_and_printed(case):
    for text in texts(case).values():
        printed = print_module(read_module(text))
        assert print_module(read_module(printed)) == printed


@pytest.mark.full
@pytest.mark.parametrize("case", cases())
@pytest.mark.parametrize("kind", ["jit", "debug", "export"])
def test_every_text_runs(case, kind):
    expected = jax.tree.leaves(jax.jit(case.function)(*case.arguments))
    runtime = Runtime(compile_module(read_module(texts(case)[kind])))
    check(runtime.run([np.asarray(each) for each in jax.tree.leaves(case.arguments)]), expected)


# Arguments and results ----------------------------------------------------------------------------


def test_any_pytree_and_names():
    def model(parameters, x, *, scale):
        return {"y": x @ parameters["w"] * scale, "unused": parameters["b"], "shape": x.shape[0]}

    arguments = ({"w": jnp.ones((4, 3)), "b": (jnp.arange(3), None)}, jnp.ones((2, 4)))
    compiled = compile_jax(model)
    expected = jax.jit(model)(*arguments, scale=2.0)
    found = compiled(*arguments, scale=2.0)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    check(found, expected)
    check(compiled(*arguments, scale=3.0), jax.jit(model)(*arguments, scale=3.0))


def test_static_arguments():
    def powers(x, count):
        return [x**n for n in range(count)]

    x, jitted = jnp.arange(4.0), jax.jit(powers, static_argnums=1)
    for compiled in (
        compile_jax(powers, static_argnames="count"),
        compile_jax(powers, static_argnums=1),
        compile_jax(jitted, static_argnames="count"),
    ):
        for count in (2, 3):
            check(compiled(x, count=count), powers(x, count))
            check(compiled(x, count), powers(x, count))
    with pytest.raises(ttl.UsageError, match="static"):
        compile_jax(jitted)(x, 2)


def test_a_static_argument_before_others():
    compiled = compile_jax(
        lambda name, x, unused, y: x - y if name == "less" else x + y, static_argnums=0
    )
    for name, wanted in (("less", 1.0), ("more", 5.0)):
        check(compiled(name, jnp.float32(3), jnp.ones(2), jnp.float32(2)), jnp.float32(wanted))


def test_one_graph_for_one_kind_of_arguments():
    traced = []

    def function(x):
        traced.append(x)
        return x + 1

    compiled = compile_jax(function)
    for shape in ((2,), (3,), (2,)):
        check(compiled(jnp.ones(shape)), jnp.ones(shape) + 1)
    assert len(traced) == 2


def test_element_types():
    for dtype in (jnp.bfloat16, jnp.float32, jnp.int32, jnp.uint32, jnp.uint8, jnp.bool_):
        x = jnp.asarray([[0, 1], [1, 0]], dtype)
        found = compile_jax(lambda a: (a, a == a, a * a))(x)
        assert [each.dtype for each in found] == [dtype, jnp.bool_, dtype]
        check(found, (x, x == x, x * x))


def test_keys_of_random_numbers():
    def draw(key):
        first, second = jax.random.split(key)
        return second, jax.random.normal(first, (5,))

    key = jax.random.key(7)
    (rest, numbers), (other, wanted) = compile_jax(draw)(key), draw(key)
    assert (jax.random.key_data(rest) == jax.random.key_data(other)).all()
    check(numbers, wanted)


def test_a_saved_graph_runs(tmp_path):
    compiled = compile_jax(lambda a, unused, b: a @ b)
    arguments = (jnp.ones((2, 3)), jnp.ones(5), jnp.ones((3, 4)))
    lowered = compiled.lower(*arguments)
    lowered.save(tmp_path / "f.ttnn")
    inputs = lowered.inputs(*arguments)
    assert len(inputs) == 2
    (found,) = Runtime.from_file(tmp_path / "f.ttnn").run(inputs)
    check([found], [jnp.full((2, 4), 3.0)])


def test_no_torch_is_needed():
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "import jax.numpy as jnp, ttgraph.jax\n"
        "found = ttgraph.jax.compile(lambda x: jnp.sort(x @ x))(jnp.eye(3))\n"
        "print(found.tolist())"
    )
    command = [sys.executable, "-P", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]"


# Loops --------------------------------------------------------------------------------------------


def test_a_loop_in_a_loop_with_values_from_outside():
    def function(x, limit):
        def outer(i, total):
            return jax.lax.fori_loop(0, i, lambda j, part: part + x[j] * limit, total)

        return jax.lax.fori_loop(0, 4, outer, jnp.zeros(()))

    arguments = (jnp.arange(5.0), jnp.float32(2))
    check(compile_jax(function)(*arguments), jax.jit(function)(*arguments))


def test_a_loop_that_never_runs_and_a_number_that_no_branch_has():
    def function(x, n):
        kept = jax.lax.while_loop(lambda v: v.sum() > 100, lambda v: v + 1, x)
        return kept, jax.lax.switch(n, [lambda v: v, lambda v: -v], x)

    for number in (-3, 0, 1, 9):
        arguments = (jnp.arange(3.0), jnp.int32(number))
        check(compile_jax(function)(*arguments), jax.jit(function)(*arguments))


def test_branches_of_truth():
    case = by_name("cond")
    for flag in (True, False):
        arguments = (np.bool_(flag), case.arguments[1])
        check(compile_jax(case.function)(*arguments), jax.jit(case.function)(*arguments))


# Mistakes -----------------------------------------------------------------------------------------


def refusal(function, *arguments):
    with pytest.raises(ttl.TTLError) as caught:
        compile_jax(function)(*arguments)
    return str(caught.value)


def test_what_is_not_read_is_named_with_its_line():
    text = refusal(lambda x: jnp.fft.fft(x), jnp.ones(4))
    assert "stablehlo.fft is not among the operations that are read" in text
    assert "%1 = stablehlo.fft %0" in text


def test_complex_numbers_are_refused_by_name():
    def product(x):
        return x * 1j

    assert "of complex numbers" in refusal(product, jnp.ones(4))
    found = refusal(lambda z: jnp.abs(z + 1j), jnp.ones(4))
    assert "of complex numbers" in found and "verify" not in found


@pytest.mark.parametrize("dtype", [jnp.int8, jnp.uint8, jnp.int16])
@pytest.mark.parametrize("source", [jnp.float32, jnp.bfloat16])
def test_floats_that_short_numbers_cannot_hold_become_the_nearest(source, dtype):
    def short(x):
        return x.astype(dtype)

    x = jnp.array([1.5, -2.5, -3e5, 3e5, jnp.nan, jnp.inf, -jnp.inf, 100.0], source)
    np.testing.assert_array_equal(compile_jax(short)(x), jax.jit(short)(x))


def test_calls_of_python_while_a_graph_runs_are_refused():
    def shown(x):
        jax.debug.print("{}", x)
        return x

    assert "jax cannot export the function" in refusal(shown, jnp.ones(4))


def test_a_call_of_a_library_is_refused_at_the_line_of_the_user():
    text = refusal(lambda x: jnp.linalg.eigh(x), jnp.ones((4, 4)))
    assert "a call of @lapack_ssyevd_ffi" in text
    assert "jnp.linalg.eigh(x)" in text and "ttgraph/" not in text


def test_a_compiled_function_in_a_gradient():
    compiled = compile_jax(jnp.sin)
    with pytest.raises(ttl.UsageError) as caught:
        jax.grad(compiled)(1.0)
    assert "compile the result" in str(caught.value)
    check(compile_jax(jax.grad(jnp.sin))(1.0), jnp.cos(1.0))


def test_a_line_that_is_wrong_is_shown_with_the_line_it_was_made_from():
    text = texts(by_name("relu"))["export"].replace("stablehlo.maximum", "stablehlo.largest")
    with pytest.raises(ttl.UsageError) as caught:
        read_module(text)
    assert "stablehlo.largest is not among the operations that are read" in str(caught.value)
    assert "= stablehlo.largest %arg0" in str(caught.value)


def test_the_programs_of_the_page_run(tmp_path, monkeypatch, capsys):
    page = Path(__file__).parents[2] / "docs" / "howto" / "jax.md"
    program = "".join(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
    monkeypatch.chdir(tmp_path)
    exec(program, {})
    assert "0.25" in capsys.readouterr().out
    assert (tmp_path / "model.ttnn").exists()
