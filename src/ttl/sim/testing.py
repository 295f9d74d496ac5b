"""`from sim.testing import assert_pcc`, for programs from the public simulator's source tree."""

from __future__ import annotations

from ttl.utils.correctness import assert_allclose


def assert_pcc(tensor_a: object, tensor_b: object, rtol: float = 1e-5, atol: float = 1e-8) -> None:
    """Raise AssertionError unless the elements are close; correlation is not checked."""
    assert_allclose(tensor_b, tensor_a, rtol, atol)
