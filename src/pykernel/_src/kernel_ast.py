"""An older name of pykernel.kernel_ast."""

from pykernel.kernel_ast import *  # noqa: F403
from pykernel.kernel_ast import __all__ as __all__
