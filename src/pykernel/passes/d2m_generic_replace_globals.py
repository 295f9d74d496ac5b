"""d2m-generic-replace-globals: threads get the generic's operands in the place of globals.

Each thread is translated separately and names the tensors it streams; `index` is the number of the
generic's operand.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from pykernel.dialects import d2m
from ttl.diagnostics import codes
from ttl.passes.module_pass import cannot_compile, erase, replace_by


def apply(op: ModuleOp) -> None:
    declared = {each.sym_name.data: each for each in op.ops if isinstance(each, d2m.GlobalOp)}
    for generic in list(d2m.generics_of(op)):
        for get in [o for o in generic.walk() if isinstance(o, d2m.GetGlobalOp)]:
            _replace(get, generic, declared)
        for by_number in [o for o in generic.walk() if isinstance(o, d2m.GetGlobalOperandOp)]:
            _use_operand(by_number, by_number.index.value.data, generic)
    for each in declared.values():
        erase(each)


def _replace(
    get: d2m.GetGlobalOp, generic: d2m.GenericOp, declared: dict[str, d2m.GlobalOp]
) -> None:
    found = declared.get(get.global_name.root_reference.data)
    if found is None:
        raise _refused(f"Global symbol not found: {get.global_name}", get)
    index = None if found.index is None else found.index.value.data
    _use_operand(get, index, generic)


def _use_operand(
    get: d2m.GetGlobalOp | d2m.GetGlobalOperandOp, index: int | None, generic: d2m.GenericOp
) -> None:
    if index is None or not 0 <= index < len(generic.operands):
        raise _refused("Global must have a valid index attribute", get)
    operand = generic.operands[index]
    if operand.type != get.result.type:
        raise _refused(f"operand {index} of the generic is not of the type of the global", get)
    replace_by(get, operand)


def _refused(message: str, get: Operation) -> Exception:
    return cannot_compile(codes.PASS_FAILED.broken(message), get)
