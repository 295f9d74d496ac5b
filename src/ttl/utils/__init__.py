"""Helpers that programs for the public tools import: comparing results, dividing work."""

from .block_allocation import (
    get_large_matmul_params,
    get_number_of_nodes_from_ranges,
    split_work_to_nodes,
)
from .correctness import assert_allclose, assert_pcc, assert_with_ulp

__all__ = [
    "assert_allclose",
    "assert_pcc",
    "assert_with_ulp",
    "get_large_matmul_params",
    "get_number_of_nodes_from_ranges",
    "split_work_to_nodes",
]
