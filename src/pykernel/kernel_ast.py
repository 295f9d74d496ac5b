"""The older home of the pykernel DSL: its names, and `Tensor` for parameters of threads."""

from typing import Any as Tensor

from pykernel import d2m_api as _api
from pykernel.d2m_api import *  # noqa: F403

__all__ = ["Tensor"]
__all__ += _api.__all__
