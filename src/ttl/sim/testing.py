"""`from sim.testing import assert_pcc`, as programs of the public simulator's source tree write."""

from __future__ import annotations

from ttl.utils.correctness import assert_allclose


def assert_pcc(tensor_a: object, tensor_b: object, rtol: float = 1e-5, atol: float = 1e-8) -> None:
    """AssertionError unless the elements are close; this one looks at no correlation."""
    assert_allclose(tensor_b, tensor_a, rtol, atol)
