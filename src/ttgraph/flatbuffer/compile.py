"""Compiles a module of StableHLO or TTIR to the bytes of a flatbuffer."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from ttgraph.passes import find_pass, run_passes
from ttgraph.passes.pipelines import GRAPH
from ttl.config import Config
from ttl.diagnostics import CompileError, codes
from ttl.diagnostics.activity import busy
from ttl.dialects import print_module

from .emit import emit_flatbuffer

RESOLVE = "ttnn-resolve-tt-lang-kernels"


def compile_module(
    module: ModuleOp,
    *,
    mesh_shape: Sequence[int] = (1, 1),
    python_module: str = "tt_torch.tt_lang",
    python_function: str = "resolve_operation",
) -> bytes:
    """Compile a module of StableHLO or TTIR, which the passes change, to a flatbuffer.

    `python_function` of `python_module` supplies the kernels of TT-Lang operations in it. Raises
    CompileError if something cannot be lowered. TTLANG_VERBOSE_PASSES=1 shows the module around
    every pass.
    """
    verify_graph(module)
    module = _find_device_module(module)
    options: dict[str, object] = {
        "mesh_shape": tuple(mesh_shape),
        "python_module": python_module,
        "python_function": python_function,
    }
    passes: list[ModulePass] = [
        find_pass(name)(**(options if name == RESOLVE else {})) for name in GRAPH
    ]
    show = _print_module if Config.current().verbose_passes else None
    with busy("compiling a graph"):
        run_passes(passes, Context(), module, None, show)
        verify_graph(module)
        rows, columns = (*mesh_shape, 1, 1)[:2]
        return emit_flatbuffer(module, mesh_shape=(rows, columns))


def _find_device_module(module: ModuleOp) -> ModuleOp:
    """Return the module itself, or the only one in it, also inside `ttcore.device_module`.

    Raises CompileError if there are host functions or other modules beside it.
    """
    parts = [op for op in module.ops if isinstance(op, ModuleOp) or op.name in _MODULES]
    if not parts or any(isinstance(op, func.FuncOp) for op in module.ops):
        return module
    inside = [op for op in parts[0].walk() if isinstance(op, ModuleOp)]
    if len(parts) > 1 or not inside:
        message = f"`{parts[-1].name}` is read, but not computed: a file has one module"
        raise CompileError(codes.GRAPH_NOT_LOWERED.broken(message).at(None))
    return _find_device_module(inside[0])


_MODULES = ("ttcore.device_module", "ttcore.cpu_module")


def verify_graph(module: ModuleOp) -> None:
    try:
        module.verify()
    except VerifyException as error:
        message = f"the graph does not verify: {str(error).splitlines()[-1]}"
        raise CompileError(codes.GRAPH_NOT_LOWERED.broken(message).at(None)) from None


def _print_module(name: str, module: ModuleOp) -> None:
    print(f"// -----// IR after {name} //----- //\n{print_module(module)}", file=sys.stderr)
