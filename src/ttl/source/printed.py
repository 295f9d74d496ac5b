"""The tree of a function as text, for people: a line for each statement, with its line number.

`name` is a variable of the function, `outer.name` one of a function around it that was read with
it, `<name: type>` an outer name with the type of its value. A call of the language,
`ttl.copy(src=.., dst=..)`, has its arguments by the names of its parameters.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from ttl.diagnostics.frames import is_pyttlang_file

from . import tree
from .bindings import Around, Binding, Scope, Variable
from .functions import MISSING, named_value
from .python import as_text
from .trees import value_around
from .walking import Changer, changed

# A node's fields, and the text between them.
HEADS: dict[type[tree.Node], str] = {
    tree.Assign: "assign {targets} = {value}",
    tree.Update: "update {target} {sign}= {value}",
    tree.Delete: "delete {targets}",
    tree.Evaluate: "evaluate {value}",
    tree.Branch: "branch {test}",
    tree.Loop: "loop {target} in {over}",
    tree.While: "while {test}",
    tree.With: "with",
    tree.Entered: "enter {value} as {target}",
    tree.Return: "return {value}",
    tree.Jump: "{kind}",
    tree.Assert: "assert {test} {message}",
    tree.Raise: "raise {error} {cause}",
    tree.Try: "try",
    tree.Handler: "handler {kind} {target}",
    tree.Import: "import {module}",
    tree.Imported: "name {target}",
    tree.Declare: "{keyword} {bindings}",
    tree.Foreign: "foreign {keyword}",
    tree.Finish: "finish {names} but {kept}",
}
LABELS = {"otherwise": "otherwise", "finally_": "finally"}


def printed(node: tree.Function, function: FunctionType) -> str:
    """Print the tree of `function`, which supplies the values of outer names."""
    printer = _Printer(function)
    printer.definition(node)
    return "\n".join(printer.lines)


class _Printer:
    def __init__(self, function: FunctionType):
        self.function = function
        self.lines: list[str] = []
        self.depth = 0
        self.scope: Scope | None = None

    def line(self, node: tree.Node, text: str) -> None:
        self.lines.append(f"{node.lineno:5}  {'  ' * self.depth}{text.rstrip()}")

    def definition(self, node: tree.Function) -> None:
        for each in node.decorators:
            self.line(each, f"@{self.field(each)}")
        names = ", ".join(each.variable.name for each in node.parameters)
        self.line(node, f"function {node.name}({names})")
        outer, self.scope = self.scope, node.scope
        self.parts(node, ("body",))
        self.scope = outer

    def node(self, node: tree.Node) -> None:
        value = node.value if isinstance(node, tree.Assign) else None
        if isinstance(value, tree.Function) and not value.is_lambda:
            self.definition(value)
            return
        self.line(node, HEADS[type(node)].format_map(_Fields(self, node)))
        self.parts(node, node.parts)

    def parts(self, node: tree.Node, names: tuple[str, ...]) -> None:
        """Print the child nodes that have lines of their own."""
        for name in names:
            part = getattr(node, name)
            if isinstance(part, tuple) and part and type(part[0]) in HEADS:
                if name in LABELS:
                    self.line(part[0], LABELS[name])
                self.depth += 1
                for each in part:
                    self.node(each)
                self.depth -= 1

    def field(self, value: object) -> str:
        if isinstance(value, tree.Node):
            return as_text(_Marked(self).node(value))
        if isinstance(value, tuple):
            return ", ".join(map(self.field, value))
        return self.name(value) if isinstance(value, Binding) else str(value or "")

    def name(self, binding: Binding) -> str:
        if isinstance(binding, Variable):
            is_own = binding.scope is self.scope or binding.scope.name.startswith("<")
            return binding.name if is_own else f"{binding.scope.name}.{binding.name}"
        value = named_value(binding.name, self.function)
        return f"<{binding.name}: {'nothing' if value is MISSING else type(value).__name__}>"


class _Fields(dict[str, str]):
    """The texts of a node's fields, computed on demand."""

    def __init__(self, printer: _Printer, node: tree.Node):
        self.printer, self.tree = printer, node

    def __missing__(self, name: str) -> str:
        return self.printer.field(getattr(self.tree, name))


class _Marked(Changer):
    """Marks names and calls of an expression with what they are."""

    def __init__(self, printer: _Printer):
        self.printer = printer

    def node(self, node: Any) -> Any:
        if isinstance(node, (tree.Name, tree.Target)):
            return changed(node, binding=Around(self.printer.name(node.binding)))
        if isinstance(node, tree.LanguageCall):
            return self.call(node)
        value: Any = value_around(node, self.printer.function)
        if is_pyttlang_file(getattr(getattr(value, "__code__", None), "co_filename", "")):
            return tree.Name(node.place, Around(f"ttl.{value.__qualname__}"))
        return self.inside(node)

    def call(self, node: tree.LanguageCall) -> tree.Call:
        name = tree.Name(node.place, Around(f"ttl.{node.which.__qualname__}"))
        keywords = tuple(
            tree.Keyword(each.place, name, self.node(each)) for name, each in node.named.items()
        )
        is_method = "." in node.which.__qualname__ and isinstance(node.function, tree.Attribute)
        owner = (self.node(node.function.owner),) if is_method else ()  # type: ignore[attr-defined]
        return tree.Call(node.place, name, owner, keywords)
