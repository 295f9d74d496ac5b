"""Angles and hyperbolic functions."""

from __future__ import annotations

from functools import partial
from math import inf, pi

import numpy as np

from .meanings import function

_function = partial(function, include="eltwise_unary/trigonometry.h")

OPS = (
    _function("tan", np.tan, "the tangent of x", between=(-pi / 2, pi / 2)),
    function("tanh", np.tanh, "the hyperbolic tangent of x"),
    _function("atan", np.arctan, "the angle whose tangent is x"),
    _function("atanh", np.arctanh, "the number whose hyperbolic tangent is x", between=(-1, 1)),
    _function("sin", np.sin, "the sine of x"),
    _function("asin", np.arcsin, "the angle whose sine is x", between=(-1, 1)),
    _function("asinh", np.arcsinh, "the number whose hyperbolic sine is x"),
    _function("cos", np.cos, "the cosine of x"),
    _function("acos", np.arccos, "the angle whose cosine is x", between=(-1, 1)),
    _function("acosh", np.arccosh, "the number whose hyperbolic cosine is x", between=(1, inf)),
    _function("sinh", np.sinh, "the hyperbolic sine of x"),
    _function("cosh", np.cosh, "the hyperbolic cosine of x"),
)
