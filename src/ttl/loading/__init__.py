"""What keeps loading this package, numpy and xDSL short: docs/decisions/0034."""

from .blas import load_numpy
from .forks import keep_forks_in_order
from .garbage import settle, without_collecting
from .kept_modules import keep_modules
from .late_methods import delay_methods

__all__ = ["settle", "without_collecting"]

keep_forks_in_order()
keep_modules()
load_numpy()
delay_methods()
