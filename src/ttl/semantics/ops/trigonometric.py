"""Angles and hyperbolic functions."""

from __future__ import annotations

import numpy as np

from .meanings import unary

OPS = (
    unary("tan", np.tan, "the tangent of x"),
    unary("tanh", np.tanh, "the hyperbolic tangent of x"),
    unary("atan", np.arctan, "the angle whose tangent is x"),
    unary("atanh", np.arctanh, "the number whose hyperbolic tangent is x"),
    unary("sin", np.sin, "the sine of x"),
    unary("asin", np.arcsin, "the angle whose sine is x"),
    unary("asinh", np.arcsinh, "the number whose hyperbolic sine is x"),
    unary("cos", np.cos, "the cosine of x"),
    unary("acos", np.arccos, "the angle whose cosine is x"),
    unary("acosh", np.arccosh, "the number whose hyperbolic cosine is x"),
)
