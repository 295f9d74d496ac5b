"""The IR dialects of the language, and contexts that know them."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.dialects.scf import Scf
from xdsl.ir import Dialect
from xdsl.printer import Printer

from . import emitc, ttkernel, ttl
from .ttcore import TTCore


def own_dialects() -> list[Dialect]:
    return [TTCore, ttl.make_dialect(), ttkernel.make_dialect(), emitc.make_dialect()]


def make_context(more: Iterable[Dialect] = ()) -> Context:
    """Make a context that reads our IR; compiling needs none of it.

    A dialect in `more` replaces ours of the same name.
    """
    from xdsl.dialects.affine import Affine

    dialects = {each.name: each for each in (Builtin, Arith, Affine, Func, Scf)}
    dialects |= {each.name: each for each in (*own_dialects(), *more)}
    context = Context()
    for dialect in dialects.values():
        context.load_dialect(dialect)
    return context


def print_module(module: ModuleOp, generic: bool = False) -> str:
    """Return IR text; MLIR reads the generic form without knowing our dialects."""
    out = StringIO()
    Printer(stream=out, print_generic_format=generic).print_op(module)
    return out.getvalue() + "\n"
