"""Reading StableHLO that jax, torch_xla or tt_torch wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttl.diagnostics import RuleBroken, Span, UsageError, codes

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


def read_module(text: str, file: str = "<stablehlo>") -> ModuleOp:
    """The module of a text; UsageError for what is not in the subset or does not verify."""
    from xdsl.parser import Parser
    from xdsl.utils.exceptions import ParseError, VerifyException

    from ttl.dialects import make_context

    try:
        module = Parser(make_context(), text, file).parse_module()
        module.verify()
    except ParseError as error:
        start = error.span.start
        line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
        span = Span(file, line, column, line, column + max(1, error.span.end - start))
        raise UsageError(RuleBroken(codes.IR_SYNTAX, error.args[-1]).at(span)) from None
    except VerifyException as error:
        message = f"the module does not verify: {str(error).splitlines()[-1]}"
        raise UsageError(RuleBroken(codes.IR_SYNTAX, message).at(None)) from None
    return module
