"""d2m-bufferize-function-args: arguments that were tensors of the device get their layout back."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, MemRefType, ModuleOp
from xdsl.rewriter import Rewriter

from ttl.dialects.metal import MetalLayoutAttr
from ttl.passes.module_pass import set_function_type

from .one_shot_bufferize import LAYOUT, device_memory


def apply(op: ModuleOp) -> None:
    for function in [o for o in op.ops if isinstance(o, func.FuncOp)]:
        if isinstance(given := function.properties.get("arg_attrs"), ArrayAttr):
            _restore(function, given)


def _restore(function: func.FuncOp, given: ArrayAttr) -> None:
    body = function.body.block
    rest = []
    for argument, attributes in zip(list(body.args), given, strict=True):
        assert isinstance(attributes, DictionaryAttr)
        layout = attributes.data.get(LAYOUT)
        if isinstance(layout, MetalLayoutAttr):
            assert isinstance(argument.type, MemRefType)
            type = device_memory(argument.type, layout)
            Rewriter.replace_value_with_new_type(argument, type)
        rest.append(DictionaryAttr({k: v for k, v in attributes.data.items() if k != LAYOUT}))
    function.properties["arg_attrs"] = ArrayAttr(rest)
    set_function_type(function, list(function.function_type.outputs))
