"""Statements that neither branch nor repeat: one handler for each syntax class."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from ttl.language.block import not_in_place
from ttl.source.handles import Finish

from .attributes import attribute_of
from .block_math import accumulate
from .builder import KernelBuilder
from .expressions import expression, subscript
from .finishing import finish_handles
from .functions import local_function
from .hir import HeldBlock, RunTime, Value
from .items import bind, changed, delete_item, refuse_attribute, unpacked
from .operators import binary
from .problems import Unusable, error_text, not_in_kernels, python_error, raised
from .python_operators import BINARY
from .scalars import check, truth


def expression_statement(builder: KernelBuilder, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):  # a docstring says nothing
        expression(builder, node.value)


def assign(builder: KernelBuilder, node: ast.Assign) -> None:
    value = expression(builder, node.value)
    for target in node.targets:
        bind(builder, target, value)


def annotated_assign(builder: KernelBuilder, node: ast.AnnAssign) -> None:
    if node.value is not None:
        bind(builder, node.target, expression(builder, node.value))


def augmented_assign(builder: KernelBuilder, node: ast.AugAssign) -> None:
    left = _augmented(builder, node.target)
    right = expression(builder, node.value)
    if isinstance(left, HeldBlock):
        if not isinstance(node.op, ast.Add):
            raise not_in_place(BINARY[type(node.op)].sign)
        accumulate(builder, left, right)
        return
    if isinstance(left, list) and isinstance(node.op, ast.Add):
        changed(builder, left, lambda: left.extend(unpacked(right)))
        return
    bind(builder, node.target, binary(builder, node.op, left, right))


def _augmented(builder: KernelBuilder, target: ast.Name | ast.Attribute | ast.Subscript) -> Value:
    if isinstance(target, ast.Name):
        return builder.lookup(target.id)
    if isinstance(target, ast.Attribute):
        refuse_attribute(builder, target)
    return subscript(builder, target)


def delete(builder: KernelBuilder, node: ast.Delete) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name) and (variable := builder.variable(target.id)):
            builder.lookup(target.id)
            del builder.state.values[variable]
            continue
        if isinstance(target, ast.Attribute):
            refuse_attribute(builder, target)
        if not isinstance(target, ast.Subscript):
            raise not_in_kernels("`del` of anything but a variable or an item")
        delete_item(
            builder, expression(builder, target.value), expression(builder, target.slice)
        )


def import_modules(builder: KernelBuilder, node: ast.Import) -> None:
    for part in node.names:
        module = _module(part.name)
        name = part.asname or part.name.partition(".")[0]
        builder.assign(name, module if part.asname else import_module(name))


def import_names(builder: KernelBuilder, node: ast.ImportFrom) -> None:
    module = _module("." * node.level + (node.module or ""))
    for part in node.names:
        if not hasattr(module, part.name):
            raise python_error(f"import of {part.name!r} from {module.__name__}: it is not there")
        builder.assign(part.asname or part.name, attribute_of(builder, module, part.name))


def _module(name: str) -> ModuleType:
    try:
        return import_module(name)
    except (ImportError, TypeError) as error:
        raise python_error(f"import of {name!r}: {error}") from None


def assertion(builder: KernelBuilder, node: ast.Assert) -> None:
    condition = truth(builder, expression(builder, node.test))
    if isinstance(condition, RunTime) or not condition:
        fails(builder, condition, _failed(builder, node))


def fails(builder: KernelBuilder, condition: Value, error: str) -> None:
    """Where the condition is false: now, if every path comes here, else when the kernel runs."""
    if not isinstance(condition, RunTime) and not builder.state.facts:
        raise raised(builder.frame, error)
    check(builder, condition, f"raised {error}")


def _failed(builder: KernelBuilder, node: ast.Assert) -> str:
    """In the words of the simulator; a text that only the run knows is left out."""
    is_text = isinstance(node.msg, (ast.Constant, ast.JoinedStr))
    said = expression(builder, node.msg) if node.msg is not None and is_text else None
    return f"AssertionError: {said}" if isinstance(said, str) else "AssertionError"


def raise_exception(builder: KernelBuilder, node: ast.Raise) -> None:
    """What follows on the path is not reached."""
    if node.exc is None:
        return fails(builder, False, "RuntimeError: No active exception to reraise")
    error: Any = expression(builder, node.exc)
    if isinstance(error, type) and issubclass(error, BaseException):
        error = error()
    if not isinstance(error, BaseException):
        error = TypeError("exceptions must derive from BaseException")
    return fails(builder, False, error_text(error))


def function_definition(builder: KernelBuilder, node: ast.FunctionDef) -> None:
    if node.decorator_list:
        raise not_in_kernels("decorators")
    builder.assign(node.name, local_function(builder, node))


def finish(builder: KernelBuilder, node: Finish) -> None:
    """What a path has not finished itself, of that which the program leaves out."""

    def values(names: list[ast.Name]) -> list[Value]:
        variables = [builder.variable(name.id) for name in names]
        return [builder.state.values.get(v) for v in variables if v is not None]

    found = values(node.names)
    usable = [value for value in found if not isinstance(value, Unusable)]
    for value in found if not usable else ():
        assert isinstance(value, Unusable)
        raise value.refuse()
    finish_handles(builder, usable, values(node.kept), node.is_wait)


def do_nothing(builder: KernelBuilder, node: ast.stmt) -> None:
    pass


STATEMENTS: dict[type[ast.stmt], Callable[[KernelBuilder, Any], None]] = {
    ast.Expr: expression_statement,
    ast.Assign: assign,
    ast.AnnAssign: annotated_assign,
    ast.AugAssign: augmented_assign,
    ast.Delete: delete,
    ast.Assert: assertion,
    ast.Raise: raise_exception,
    ast.FunctionDef: function_definition,
    ast.Import: import_modules,
    ast.ImportFrom: import_names,
    ast.Nonlocal: do_nothing,
    ast.Pass: do_nothing,
    Finish: finish,
}
