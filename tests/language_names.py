"""What the specification of the language names: the op table has all of it, and may have more.

A new operation of ours is not listed here; one that the specification gets is, and then has numbers
worked out by hand in unit/semantics/ops/test_numbers.py and a reference in property/reference.py.
"""

from __future__ import annotations

import re

from ttl.semantics.ops import BY_OPERATOR

MATH = re.findall(
    r"\S+",
    """
    max min lt le gt ge eq ne abs neg pow exp exp2 expm1 log logp1 log1p sqrt cbrt square rsqrt
    recip rsub logical_not logical_and logical_or
    tan tanh atan atanh sin asin asinh cos acos acosh sinh cosh
    relu relu_max relu_min leaky_relu elu gelu sigmoid celu silu prelu softplus softsign hardsigmoid
    hardtanh selu erf mish reduce_sum reduce_max reduce_min reduce_mean broadcast
    transpose squeeze unsqueeze
    frac trunc round floor ceil clamp threshold sign signbit heaviside
    fill mask mask_posinf where typecast
    """,
)
BLOCK = re.findall(r"\S+", "broadcast fill mask mask_posinf where transpose squeeze unsqueeze")
OPERATORS = re.findall(r"\S+", "+ - * / @ % // ^ < <= > >= == != **")


def specified_operations() -> set[str]:
    """By their names in the op table."""
    return {*MATH, *BLOCK, *(BY_OPERATOR[operator].name for operator in OPERATORS)}
