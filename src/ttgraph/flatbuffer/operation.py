"""Compiles one operation to a flatbuffer: one GenericOp between its inputs and its output."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.parser import Parser

from ttgraph.dialects import make_context, ttnn
from ttgraph.passes import find_pass, run_passes
from ttgraph.passes.pipelines import GRAPH
from ttl.artifact import CompiledOperation, to_json
from ttl.driver.specs import TensorSpec, compile_from_spec

from .compile import RESOLVE
from .emit import emit_flatbuffer


def compile_operation(function: Callable[..., object], specs: Sequence[TensorSpec]) -> bytes:
    """Compile an operation or a pykernel function; its last tensor is the result."""
    compiled = compile_from_spec(function, specs)
    module = _graph(compiled, specs)
    before, after = GRAPH[: GRAPH.index(RESOLVE)], GRAPH[GRAPH.index(RESOLVE) + 1 :]
    run_passes([find_pass(name)() for name in before], Context(), module)
    for op in module.walk():
        if isinstance(op, ttnn.TTLangOp):
            op.attributes["kernel_artifact"] = StringAttr(json.dumps(to_json(compiled)))
    run_passes([find_pass(name)() for name in after], Context(), module)
    return emit_flatbuffer(module)


def _graph(compiled: CompiledOperation, specs: Sequence[TensorSpec]) -> ModuleOp:
    """Make StableHLO with one call, in the form that tt_torch emits."""
    types = [f"tensor<{'x'.join(map(str, spec.shape))}x{spec.dtype.mlir}>" for spec in specs]
    *inputs, output = types
    names = [f"%arg{n}" for n in range(len(inputs))]
    parameters = ", ".join(f"{name}: {type}" for name, type in zip(names, inputs, strict=True))
    roles = ",".join(["in"] * len(inputs) + ["out"])
    text = f"""
    func.func @main({parameters}) -> {output} {{
      %0 = stablehlo.custom_call @tt.tt_lang_op({", ".join(names)}) {{api_version = 0 : i32,
        mhlo.frontend_attributes = {{arg_roles = "{roles}", kernel_id = "{compiled.name}",
        shard_spec = "", version_tag = "0"}}}} : ({", ".join(inputs)}) -> {output}
      return %0 : {output}
    }}"""
    return Parser(make_context(), text).parse_module()
