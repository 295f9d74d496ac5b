"""The tree of a function means what its Python means.

Reading a function and writing it again gives the same syntax, where nothing is written simpler; all
functions of Python's own library and of this repository are asked. Names are bound as Python itself
says (`symtable`). What is written simpler is run both ways.
"""

import ast
import symtable
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttl.source import tree
from ttl.source.python import as_ast, as_text
from ttl.source.read import read_function, read_module
from ttl.source.walking import Changer, children, walk

HERE = Path(__file__).resolve().parents[3]
LIBRARY = Path(sysconfig.get_paths()["stdlib"])
Definition = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def files() -> list[Path]:
    return sorted(LIBRARY.glob("*.py")) + sorted(HERE.glob("src/**/*.py"))


def definitions(file: Path) -> Iterator[Definition]:
    module = ast.parse(file.read_text(encoding="utf-8"))
    return (node for node in ast.walk(module) if isinstance(node, Definition))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "file" in metafunc.fixturenames:
        every = 1 if metafunc.config.getoption("--full") else 12
        metafunc.parametrize("file", files()[::every], ids=lambda file: file.name)


# Reading and writing ------------------------------------------------------------------------------


class Plain(ast.NodeTransformer):
    """Without what the tree does not keep: annotations of variables, `pass`, type comments."""

    def visit_Pass(self, node: ast.Pass) -> None:
        return None

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt | None:
        self.generic_visit(node)
        return None if node.value is None else ast.Assign([node.target], node.value)

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        return [ast.Import([each]) for each in node.names]


def is_written_simpler(definition: Definition) -> bool:
    return any(
        isinstance(node, ast.Match)
        or (isinstance(node, ast.For | ast.While) and bool(node.orelse))
        or (
            isinstance(node, ast.If | ast.While)
            and any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.test))
        )
        for node in ast.walk(definition)
    )


def plain(node: ast.AST) -> str:
    (again,) = ast.parse(ast.unparse(ast.fix_missing_locations(node))).body
    return ast.dump(Plain().visit(again))


def test_what_is_read_is_written_again(file: Path) -> None:
    for definition in definitions(file):
        if not is_written_simpler(definition):
            assert plain(as_ast(read_function(definition))) == plain(definition)


def test_every_node_keeps_its_place(file: Path) -> None:
    for definition in definitions(file):
        if is_written_simpler(definition):
            continue
        places = {
            (type(node), node.lineno, node.col_offset)
            for node in ast.walk(definition)
            if isinstance(node, ast.expr | ast.stmt)
        }
        for node in ast.walk(as_ast(read_function(definition))):
            if isinstance(node, ast.expr | ast.stmt) and not isinstance(
                node, ast.Pass | ast.Assign
            ):
                assert (type(node), node.lineno, node.col_offset) in places


def test_a_changer_that_changes_nothing_gives_the_same_nodes(file: Path) -> None:
    for definition in definitions(file):
        function = read_function(definition)
        assert Changer().node(function) is function


def test_each_node_comes_once(file: Path) -> None:
    for definition in definitions(file):
        nodes = list(walk(read_function(definition)))
        assert len(nodes) == len({id(node) for node in nodes})
        for node in nodes:
            assert all(isinstance(child, tree.Node) for child in children(node))


# Names --------------------------------------------------------------------------------------------


def tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for inner in table.get_children():
        yield from tables(inner)


def functions_in(function: tree.Function) -> Iterator[tree.Function]:
    return (node for node in walk(function) if isinstance(node, tree.Function))


def test_names_are_bound_as_python_binds_them(file: Path) -> None:
    """Of functions with a name and a line of their own; `symtable` knows nothing else of them."""
    text = file.read_text(encoding="utf-8")
    known: dict[tuple[str, int], list[symtable.Function]] = {}
    for table in tables(symtable.symtable(text, file.name, "exec")):
        if isinstance(table, symtable.Function):
            known.setdefault((table.get_name(), table.get_lineno()), []).append(table)
    for definition in definitions(file):
        for function in functions_in(read_function(definition)):
            first = min([function.lineno, *(each.lineno for each in function.decorators)])
            several = known.get((function.name, first), [])
            if function.is_lambda or len(several) != 1 or is_in_class(function):
                continue
            own = {name for name in function.scope.variables if name.isidentifier()}
            assert own >= {*several[0].get_locals()} - inlined(several[0])
            assert own <= {*several[0].get_locals()} | annotated(several[0])


def is_in_class(function: tree.Function) -> bool:
    """Private names are mangled there."""
    return any(name.startswith("__") for name in function.scope.variables)


def inlined(table: symtable.Function) -> set[str]:
    """Since Python 3.12 the targets of comprehensions are among the names around them."""
    inner = (each for each in table.get_children() if each.get_name().endswith("comp"))
    return {
        name for each in inner if isinstance(each, symtable.Function) for name in each.get_locals()
    } | annotated(table)


def annotated(table: symtable.Function) -> set[str]:
    return {each.get_name() for each in table.get_symbols() if each.is_annotated()}


# Written simpler ----------------------------------------------------------------------------------


def function_of(text: str) -> FunctionType:
    names: dict[str, Any] = {}
    exec(text, names)
    made = names["f"]
    assert isinstance(made, FunctionType)
    return made


def written_again(text: str) -> FunctionType:
    (definition,) = ast.parse(text).body
    assert isinstance(definition, ast.FunctionDef)
    module = ast.fix_missing_locations(ast.Module([as_ast(read_function(definition))], []))
    names: dict[str, Any] = {}
    exec(compile(module, "<again>", "exec"), names)
    made = names["f"]
    assert isinstance(made, FunctionType)
    assert isinstance(made.__code__, CodeType)
    return made


EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "b", "c", "1", "2", "(x := a + 1)", "a % 3", "len(seen)"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "<", "==", "and", "or"]), inner).map(
            lambda parts: f"({' '.join(parts)})"
        ),
        st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} if {p[1]} else {p[2]})"),
        inner.map(lambda part: f"sum([y + {part} for y in (1, 2)])"),
        inner.map(lambda part: f"(lambda a: a + {part})(3)"),
    ),
    max_leaves=4,
)


def indented(body: list[str]) -> str:
    return "\n".join("    " + line for text in body for line in text.splitlines())


SIMPLE = st.one_of(
    EXPRESSIONS.map(lambda e: f"seen.append({e})"),
    EXPRESSIONS.map(lambda e: f"a = {e}"),
    EXPRESSIONS.map(lambda e: f"b, c = c, {e}"),
    EXPRESSIONS.map(lambda e: f"c += {e}"),
    EXPRESSIONS.map(lambda e: f"if {e}: return a"),
    st.just("x = 0"),
)


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(inner, min_size=1, max_size=3).map(indented)
    leave = st.sampled_from(["", "    if a > b: break\n", "    if c % 2: continue\n"])
    otherwise = st.one_of(st.just(""), body.map(lambda text: f"\nelse:\n{text}"))
    return st.one_of(
        st.tuples(EXPRESSIONS, body, otherwise).map(lambda p: f"if {p[0]}:\n{p[1]}{p[2]}"),
        st.tuples(st.sampled_from(["i", "a"]), leave, body, otherwise).map(
            lambda p: f"for {p[0]} in range(3):\n{p[1]}{p[2]}{p[3]}"
        ),
        st.tuples(leave, body, otherwise).map(
            lambda p: f"n = 0\nwhile (n := n + 1) < 4:\n{p[0]}{p[1]}{p[2]}"
        ),
        st.tuples(EXPRESSIONS, EXPRESSIONS, body, body, body).map(
            lambda p: (
                f"match {p[0]}:\n  case 1 | 2:\n{indented([p[2]])}\n"
                f"  case _ if {p[1]}:\n{indented([p[3]])}\n  case other:\n{indented([p[4]])}"
            )
        ),
        body.map(lambda text: f"def inner():\n    nonlocal a\n{text}\nseen.append(inner())"),
        body.map(lambda text: f"try:\n{text}\nfinally:\n    seen.append(a)"),
    )


STATEMENTS = st.recursive(SIMPLE, compound, max_leaves=8)


@given(st.lists(STATEMENTS, min_size=1, max_size=4))
def test_what_is_written_simpler_does_the_same(body: list[str]) -> None:
    start = ["x = n = 0", "a, b, c, seen = 1, 2, 3, []"]
    text = f"def f():\n{indented([*start, *body, 'return a, b, c, x, seen'])}\n"
    try:
        one = function_of(text)
    except SyntaxError:  # `nonlocal` of a function in a function that has its own
        return
    assert outcome(one) == outcome(written_again(text)), text


def outcome(function: FunctionType) -> object:
    try:
        return function()
    except (UnboundLocalError, NameError, ZeroDivisionError, RecursionError) as error:
        return type(error)


def test_a_lambda_with_more_than_its_value_becomes_a_definition() -> None:
    (definition,) = ast.parse("def f():\n    return (lambda x: x + 1)(2)").body
    assert isinstance(definition, ast.FunctionDef)

    class Longer(Changer):
        def change(self, node: tree.Node) -> Any:
            if isinstance(node, tree.Function) and node.is_lambda:
                first = tree.Evaluate(node.place, tree.Constant(node.place, 0))
                return tree.Function(
                    node.place,
                    node.name,
                    (),
                    node.parameters,
                    (first, *node.body),
                    node.scope,
                    True,
                )
            return node

    function = Longer().node(read_function(definition))
    module = ast.fix_missing_locations(ast.Module([as_ast(function)], []))
    names: dict[str, Any] = {}
    exec(compile(module, "<again>", "exec"), names)
    assert names["f"]() == 3


def test_parts_are_written_as_text() -> None:
    (definition,) = ast.parse("def f(x):\n    for i in x[1:]: print(i + 1, sep='')").body
    assert isinstance(definition, ast.FunctionDef)
    loop = read_function(definition).body[0]
    assert isinstance(loop, tree.Loop)
    assert as_text(loop.over) == "x[1:]"
    assert as_text(loop) == "for i in x[1:]:\n    print(i + 1, sep='')"


# Modules ------------------------------------------------------------------------------------------


def test_a_module_is_a_function_whose_variables_are_its_names() -> None:
    module = read_module("""
import os.path
limit = 3
class Box:
    size = limit
    def area(self):
        return size * limit
def count():
    global total
    total = limit + missing
""")
    names = {str(node.binding) for node in walk(module) if isinstance(node, tree.Name)}
    assert {"<module>.limit", "Around(name='size')", "Around(name='missing')"} <= names
    targets = {str(node.binding) for node in walk(module) if isinstance(node, tree.Target)}
    assert {"<module>.os", "Box.size", "Box.area", "<module>.total"} <= targets
