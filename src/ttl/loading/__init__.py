"""Preparations before the rest of this package is loaded."""

from . import cache_folder as cache_folder  # records the process's first working folder
from .blas import load_numpy
from .forks import keep_forks_in_order
from .garbage import settle, without_collecting

__all__ = ["settle", "without_collecting"]

keep_forks_in_order()
load_numpy()
