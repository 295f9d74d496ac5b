"""The C++ printer: names, parentheses, comments and the map back to Python."""

from __future__ import annotations

import pytest
from xdsl.parser import Parser

from golden.example_programs import EXAMPLES, OPERATIONS, compile_example
from ttl.codegen import print_file
from ttl.dialects import emitc, make_context
from ttl.dialects.emitc import unique_identifier


def printed(body: str) -> list[str]:
    """The lines of a function with this body."""
    text = f"""builtin.module {{ "emitc.file"() <{{id = "f"}}> ({{
      "emitc.func"() <{{sym_name = "kernel_main", function_type = () -> ()}}> ({{
        {body}
        "emitc.return"() : () -> ()
      }}) : () -> ()
    }}) : () -> () }}"""
    (file,) = Parser(make_context(), text).parse_module().ops
    assert isinstance(file, emitc.FileOp)
    lines = print_file(file).text.splitlines()
    assert (lines[1], lines[-2:]) == ("void kernel_main() {", ["  return;", "}"])
    return [line.strip() for line in lines[2:-2]]


def expression(formula: str) -> str:
    """`formula` over x, y and z, as C++."""
    call = 'emitc.call_opaque "{0}"() : () -> i32'
    before = "\n".join(f"%{name} = {call.format('f')}" for name in "xyz")
    body = f"""{before}
      %r = "emitc.expression"(%x, %y, %z) <{{do_not_inline}}> ({{
      ^bb0(%a: i32, %b: i32, %c: i32):
        {formula}
        "emitc.yield"(%out) : (i32) -> ()
      }}) : (i32, i32, i32) -> i32"""
    return printed(body)[-1].removeprefix("int32_t r = ").removesuffix(";")


def op(result: str, name: str, left: str, right: str) -> str:
    return f'%{result} = "emitc.{name}"(%{left}, %{right}) : (i32, i32) -> i32\n'


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (op("s", "add", "a", "b") + op("out", "mul", "s", "c"), "(x + y) * z"),
        (op("s", "mul", "a", "b") + op("out", "add", "s", "c"), "x * y + z"),
        (op("s", "sub", "b", "c") + op("out", "sub", "a", "s"), "x - (y - z)"),
        (op("s", "add", "b", "c") + op("out", "sub", "a", "s"), "x - (y + z)"),
        (op("s", "mul", "b", "c") + op("out", "sub", "a", "s"), "x - y * z"),
        (op("s", "mul", "b", "c") + op("out", "mul", "a", "s"), "x * (y * z)"),
    ],
)
def test_parentheses_keep_the_tree(formula: str, text: str) -> None:
    assert expression(formula) == text


@pytest.mark.parametrize(
    ("name", "taken", "identifier"),
    [
        ("row", (), "row"),
        ("row", {"row"}, "row_2"),
        ("row", {"row", "row_2"}, "row_3"),
        ("int", (), "int_2"),
        ("zähler", (), "z_hler"),
    ],
)
def test_identifiers(name: str, taken: set[str], identifier: str) -> None:
    assert unique_identifier(name, taken) == identifier


def test_a_variable_does_not_hide_a_function_it_needs() -> None:
    lines = printed(
        """%f = emitc.call_opaque "f"() : () -> i32
        emitc.call_opaque "f"(%f) : (i32) -> ()"""
    )
    assert lines == ["int32_t f_2 = f();", "f(f_2);"]


def test_names_of_a_loop_end_with_it() -> None:
    loop = """"emitc.for"(%n, %n, %n) ({{
        ^bb0(%{0}: i32):
          %{1} = emitc.call_opaque "g"(%{0}) : (i32) -> i32
          "emitc.yield"() : () -> ()
        }}) : (i32, i32, i32) -> ()"""
    lines = printed(
        '%n = "emitc.literal"() <{value = "1"}> : () -> i32\n'
        + loop.format("i", "v")
        + loop.format("i_1", "v_1")
    )
    one = ["for (int32_t i = 1; i < 1; i += 1) {", "int32_t v = g(i);", "}"]
    assert lines == one * 2 or [line.replace("_1", "") for line in lines] == one * 2


@pytest.mark.parametrize("name", OPERATIONS)
def test_source_map_is_ascending_and_points_at_the_example(name: str) -> None:
    source = (EXAMPLES / f"{name}.py").read_text().splitlines()
    for kernel in compile_example(name).kernels:
        lines = [line for line, _ in kernel.source_map]
        assert lines == sorted(set(lines)) and lines
        count = len(kernel.cpp_source.splitlines())
        for line, span in kernel.source_map:
            assert 1 <= line <= count and span.file == str(EXAMPLES / f"{name}.py")
            assert 1 <= span.line <= len(source)


@pytest.mark.parametrize(
    ("kernel", "call", "python"),
    [
        (0, "mul_tiles", "a_blk * b_blk"),
        (0, "exp_tile(", "ttl.math.exp(c_blk)"),
        (0, "add_binary_tile<", "a_blk * b_blk + ttl.math.exp(c_blk)"),
        (0, "cb_wait_front(c_dfb", "c_dfb.wait()"),
        (
            1,
            "b_dfb_address = get",
            "ttl.copy(b[row : row + BLOCK, column : column + BLOCK], b_blk)",
        ),
        (2, "noc_async_writes_flushed", "y_copy.wait()"),
    ],
)
def test_a_line_leads_back_to_the_python_it_came_from(kernel: int, call: str, python: str) -> None:
    compiled = compile_example("elementwise").kernels[kernel]
    text = compiled.cpp_source.splitlines()
    (number,) = [position for position, line in enumerate(text, 1) if call in line]
    span = compiled.span_of(number)
    assert span is not None and span.line == span.end_line
    source = (EXAMPLES / "elementwise.py").read_text().splitlines()[span.line - 1]
    assert source[span.column - 1 : span.end_column - 1] == python
