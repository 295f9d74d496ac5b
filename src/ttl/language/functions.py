"""The functions of ttl.math and ttl.block, made from the op table; `ttl` has all of them too."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from types import ModuleType

from ttl.diagnostics import RuleBroken
from ttl.diagnostics.names import unknown_name
from ttl.semantics.kernel_config import Sum
from ttl.semantics.ops import (
    BLOCK_OPS,
    NAMESPACES,
    NO_PARAMETERS,
    REDUCTIONS,
    REQUIRED,
    BlockOp,
    bind,
)

from .block import BlockExpression
from .engine import engine

Function = Callable[..., BlockExpression]


class Namespace(ModuleType):
    """ttl.<name> with its functions. Errors name a function as it was called."""

    def __init__(self, name: str, summary: str, *others: Function):
        super().__init__(f"ttl.{name}", summary)
        functions = {known: _function(op, name) for known, op in NAMESPACES[name].items()}
        functions |= {other.__name__: other for other in others}
        self.NAMES = tuple(functions)
        vars(self).update(functions, __all__=self.NAMES)  # for `from ttl.math import *`

    def __getattr__(self, name: str) -> Function:
        others = sorted({f"ttl.{space}.{n}" for space in NAMESPACES for n in NAMESPACES[space]})
        elsewhere = {each.rpartition(".")[2]: f"write {each}()" for each in others}
        raise unknown_name(self.__name__, name, self.NAMES, instead=elsewhere)


def _function(op: BlockOp, namespace: str | None = None) -> Function:
    module = f"ttl.{namespace}" if namespace else "ttl"
    spelling = f"{module}.{op.name}()"
    count = None if op.parameters or op.rearrange else op.operands

    def call(*args: object, **kwargs: object) -> BlockExpression:
        running = engine(spelling)
        try:
            if len(args) == count and not kwargs:
                return running.apply(op, args, NO_PARAMETERS)
            meant = op if op.with_flags is None else op.called_with(kwargs)
            operands, parameters = bind(meant, args, kwargs)
            return running.apply(meant, operands, parameters)
        except RuleBroken as broken:  # rules name an op by its first namespace
            if namespace is None or op.namespaces[0] == namespace:
                raise
            known = f"ttl.{op.namespaces[0]}.{op.name}("
            raise broken.respelled(known, spelling.removesuffix(")")) from None

    call.__name__ = call.__qualname__ = op.name
    call.__module__ = module
    call.__doc__ = _docstring(op)
    call.__signature__ = _signature(op)  # type: ignore[attr-defined]
    return call


def _docstring(op: BlockOp) -> str:
    """Return the docstring of an operation's function, in sentences for editors."""
    moves = op.operands == 0 or op.name in ("squeeze", "unsqueeze")
    summary = f"Returns {op.summary}{', elementwise' * (op.elementwise and not moves)}."
    given = (*op.parameters, *(op.with_flags.parameters if op.with_flags is not None else ()))
    kinds = [f"`{each.name}` is {each.kind.value}." for each in given]
    forms = [f"    {form}" for form in op.forms]
    parts = (forms, [f"Works on {op.domain.value}.", *kinds])
    return "\n".join([summary, *(line for part in parts if part for line in ("", *part))])


def _signature(op: BlockOp) -> Signature:
    given = [
        Parameter(
            name,
            Parameter.POSITIONAL_OR_KEYWORD,
            default=op.operand_defaults.get(name, Parameter.empty),
        )
        for name in op.names
    ]
    needs_keyword = bool(op.operand_defaults)  # after an operand that may be left out
    for parameter in op.parameters:
        kind = Parameter.KEYWORD_ONLY if needs_keyword else Parameter.POSITIONAL_OR_KEYWORD
        has_default = parameter.default is not REQUIRED
        default = parameter.default if has_default else Parameter.empty
        given.append(Parameter(parameter.name, kind, default=default))
    for flag in op.with_flags.parameters if op.with_flags is not None else ():
        given.append(Parameter(flag.name, Parameter.KEYWORD_ONLY, default=flag.default))
    return Signature(given, return_annotation=BlockExpression)


def matmul(
    a: object, b: object, transpose_b: bool = False, *, transpose_rhs: bool = False
) -> BlockExpression:
    """Return the matrix product `a @ b`; `transpose_b` transposes `b` first.

    Works on the operator's operands. `transpose_rhs` is the public compiler's `transpose_b`.
    """
    running = engine("ttl.matmul()")
    if transpose_b or transpose_rhs:
        b = running.apply(BLOCK_OPS["transpose"], (b,), NO_PARAMETERS)
    return running.apply(BLOCK_OPS["matmul"], (a, b), NO_PARAMETERS)


math = Namespace("math", "The functions of the op table.", matmul)
block_functions = Namespace("block", "The functions of the op table that arrange, fill and select.")

# The functions that add up many values; source/ looks for them in kernels.
SUMS = {matmul: Sum.MATMUL} | {getattr(math, name): Sum.REDUCTION for name in REDUCTIONS}

# `ttl.exp`, `ttl.transpose`, `ttl.add`; ttl.block's functions replace ttl.math's of equal names.
FLAT: dict[str, Function] = {
    name: _function(op) for name, op in BLOCK_OPS.items() if not op.namespaces
} | {name: getattr(space, name) for space in (math, block_functions) for name in space.NAMES}
