"""Statements that neither branch nor repeat; each syntax class has a handler."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType

from ttl.source import tree
from ttl.source.bindings import Variable

from .attributes import attribute_of
from .builder import KernelBuilder
from .expressions import expression, item
from .finishing import finish_handles
from .hir import RunTime, Value
from .in_python import in_python
from .items import bind, delete_item, refuse_attribute
from .operator_methods import in_place
from .problems import Unusable, error_text, not_in_kernels, raised
from .scalars import check, truth


def evaluate(builder: KernelBuilder, node: tree.Evaluate) -> None:
    if not isinstance(node.value, tree.Constant):  # a docstring
        expression(builder, node.value)


def assign(builder: KernelBuilder, node: tree.Assign) -> None:
    if isinstance(node.value, tree.Function) and not node.value.is_lambda:
        _check_definition(builder, node.value)
    value = expression(builder, node.value)
    for target in node.targets:
        bind(builder, target, value)


def _check_definition(builder: KernelBuilder, node: tree.Function) -> None:
    if node.is_async:
        raise not_in_kernels("`async def`")
    for decorator in node.decorators:
        expression(builder, decorator)
        raise not_in_kernels("decorators")


def update(builder: KernelBuilder, node: tree.Update) -> None:
    left = _updated(builder, node.target)
    right = expression(builder, node.value)
    found = in_place(builder, node.sign, left, right)
    if found is not left:
        bind(builder, node.target, found)


def _updated(builder: KernelBuilder, target: tree.Expression) -> Value:
    if isinstance(target, tree.Target):
        return builder.lookup(target.binding)
    if isinstance(target, tree.Attribute):
        refuse_attribute(builder, target)
    assert isinstance(target, tree.Item)
    return item(builder, target)


def delete(builder: KernelBuilder, node: tree.Delete) -> None:
    for target in node.targets:
        is_name = isinstance(target, tree.Target)
        if is_name and (variable := builder.variable(target.binding)):  # type: ignore[attr-defined]
            builder.lookup(variable.of)
            del builder.state.values[variable]
            continue
        if isinstance(target, tree.Attribute):
            refuse_attribute(builder, target, "`del` of")
        if not isinstance(target, tree.Item):
            raise not_in_kernels("`del` of anything but a variable or an item")
        delete_item(builder, expression(builder, target.owner), expression(builder, target.index))


def import_names(builder: KernelBuilder, node: tree.Import) -> None:
    module: ModuleType = in_python(import_module, "." * node.level + node.module)
    for part in node.names:
        name = part.name
        if name is None:
            value: Value = module if part.has_alias else import_module(part.target.binding.name)
        elif hasattr(module, name):
            value = attribute_of(builder, module, name)
        else:
            raise raised(f"ImportError: cannot import name {name!r} from {module.__name__!r}")
        builder.assign(part.target.binding, value)


def assertion(builder: KernelBuilder, node: tree.Assert) -> None:
    condition = truth(builder, expression(builder, node.test))
    if isinstance(condition, RunTime) or not condition:
        fails(builder, condition, _failed(builder, node))


def fails(builder: KernelBuilder, condition: Value, error: str) -> None:
    """Raise an error if the condition is false: now if every path comes here, or at run time."""
    if not isinstance(condition, RunTime) and not builder.state.facts:
        raise raised(error)
    check(builder, condition, f"raised {error}")


def _failed(builder: KernelBuilder, node: tree.Assert) -> str:
    """Describe a failed assertion as the simulator does, without run-time text."""
    message = node.message
    is_text = isinstance(message, (tree.Constant, tree.Text))
    said = expression(builder, message) if message is not None and is_text else None
    return f"AssertionError: {said}" if isinstance(said, str) else "AssertionError"


def raise_exception(builder: KernelBuilder, node: tree.Raise) -> None:
    """Raise an exception; the rest of the path is unreachable."""
    if node.error is None:
        return fails(builder, False, "RuntimeError: No active exception to reraise")
    error: object = expression(builder, node.error)
    if isinstance(error, type) and issubclass(error, BaseException):
        error = error()
    if not isinstance(error, BaseException):
        error = TypeError("exceptions must derive from BaseException")
    return fails(builder, False, error_text(error))


def finish(builder: KernelBuilder, node: tree.Finish) -> None:
    """Finish the handles of a path that the program leaves unfinished."""

    def values(names: tuple[Variable, ...]) -> list[Value]:
        variables = [builder.variable(name) for name in names]
        return [builder.state.values.get(v) for v in variables if v is not None]

    found = values(node.names)
    usable = [value for value in found if not isinstance(value, Unusable)]
    for value in found if not usable else ():
        assert isinstance(value, Unusable)
        raise value.refuse()
    finish_handles(builder, usable, values(node.kept), node.is_wait)


def declare(builder: KernelBuilder, node: tree.Declare) -> None:
    """Refuse `global`; the bindings already include `nonlocal`."""
    if node.keyword == "global":
        raise not_in_kernels("`global`")


STATEMENTS: dict[type[tree.Statement], Callable[..., None]] = {
    tree.Evaluate: evaluate,
    tree.Assign: assign,
    tree.Update: update,
    tree.Delete: delete,
    tree.Assert: assertion,
    tree.Raise: raise_exception,
    tree.Import: import_names,
    tree.Declare: declare,
    tree.Finish: finish,
}
