"""The IR dialects, and a context that knows them all."""

from __future__ import annotations

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


def _graph_dialects() -> list[Dialect]:
    from . import stablehlo, ttir, ttnn

    return [*stablehlo.make_dialects(), ttir.make_dialect(), ttnn.make_dialect()]


def _d2m_dialects() -> list[Dialect]:
    """d2m, the part of ttcore that only it uses, and what it is made of upstream."""
    from xdsl.dialects.linalg import Linalg
    from xdsl.dialects.memref import MemRef
    from xdsl.dialects.tensor import Tensor

    from . import d2m, ttmetal

    ttcore = Dialect(
        "ttcore", [*TTCore.operations, d2m.GlobalOp, d2m.GetGlobalOp], list(TTCore.attributes)
    )
    return [ttcore, d2m.make_dialect(), ttmetal.make_dialect(), Linalg, MemRef, Tensor]


def make_context() -> Context:
    """A context that reads all our IR; compiling needs none of it."""
    from xdsl.dialects.affine import Affine

    context = Context()
    upstream = (Builtin, Arith, Affine, Func, Scf)
    own = (each for each in own_dialects() if each is not TTCore)  # _d2m_dialects() has more of it
    for dialect in (*upstream, *own, *_d2m_dialects(), *_graph_dialects()):
        context.load_dialect(dialect)
    return context


def print_module(module: ModuleOp, generic: bool = False) -> str:
    """IR text; the generic form is the one that MLIR reads without knowing our dialects."""
    out = StringIO()
    Printer(stream=out, print_generic_format=generic).print_op(module)
    return out.getvalue() + "\n"
