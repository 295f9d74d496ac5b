"""The older home of the pykernel DSL: its names, and `Tensor` for the parameters of threads."""

from typing import Any as Tensor

from ttl.d2m import api as _api
from ttl.d2m.api import *  # noqa: F403

__all__ = ["Tensor"]
__all__ += _api.__all__
