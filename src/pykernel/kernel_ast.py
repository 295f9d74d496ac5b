"""The older home of the pykernel DSL: its names, and `Tensor` for the parameters of threads."""

from typing import Any as Tensor

from ttl.d2m.api import *  # noqa: F403
from ttl.d2m.api import __all__ as _names

__all__ = [*_names, "Tensor"]
