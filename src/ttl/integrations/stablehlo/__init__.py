"""Reading StableHLO that jax, torch_xla or tt_torch wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttl.diagnostics import RuleBroken, UsageError, codes

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


def read_module(text: str, file: str = "<stablehlo>") -> ModuleOp:
    """The module of a text; UsageError for what is not in the subset or does not verify."""
    from xdsl.utils.exceptions import VerifyException

    from ttl.dialects import make_context
    from ttl.dialects.reading import parse_module

    module = parse_module(text, file, make_context())
    try:
        module.verify()
    except VerifyException as error:
        message = f"the module does not verify: {str(error).splitlines()[-1]}"
        raise UsageError(RuleBroken(codes.IR_SYNTAX, message).at(None)) from None
    return module
