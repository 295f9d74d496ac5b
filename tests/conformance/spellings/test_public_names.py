"""Every name and parameter that programs for the public simulator use."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import ttl
from conformance.harness import computing, empty, refused, run, small, statement
from ttl import ttnn

LISTED = {
    "ttl": "operation compute datamovement make_dataflow_buffer_like copy GroupTransfer Pipe "
    "PipeNet SrcPipeIdentity DstPipeIdentity node grid_size signpost Program block math NodeCoord "
    "NodeRange Shape Size DstT TILE_SHAPE TILE_LAYOUT ROW_MAJOR_LAYOUT",
    "ttl.block": "broadcast fill mask mask_posinf where squeeze unsqueeze transpose",
    "ttl.math": "reduce_sum reduce_max max min gt lt eq ne abs neg exp exp2 expm1 log logp1 sqrt "
    "square rsqrt recip tan tanh atan atanh sin asin asinh cos acos acosh relu sigmoid gelu silu "
    "softsign hardsigmoid selu floor ceil frac trunc sign signbit rsub relu_max relu_min "
    "leaky_relu elu celu prelu softplus hardtanh round clamp threshold",
    "ttl.sim": "ttl ttnn",
    "ttl.sim.testing": "assert_pcc",
    "ttl.sim.typedefs": "Pipe Shape Size NodeCoord CoreCoord CoreRange DstT",
    "ttl.diagnostics": "TTLangCompileError",
    "ttl.utils.correctness": "assert_allclose assert_pcc assert_with_ulp comp_ulp ulp",
    "ttl.utils.block_allocation": "get_large_matmul_params get_number_of_nodes_from_ranges "
    "split_work_to_nodes",
    "ttl.dtype_utils": "format_name_to_ttnn_dtype is_ttnn_tensor tile_bytes_from_dtype "
    "torch_dtype_to_ttnn_datatype",
}
NAMES = [(module, name) for module, names in LISTED.items() for name in names.split()]


@pytest.mark.rule("public-names")
@pytest.mark.parametrize(("module", "name"), NAMES)
def test_the_name_is_there(module: str, name: str) -> None:
    """Imported, as an attribute, and in what `import *` gives."""
    imported = importlib.import_module(module)
    scope: dict[str, object] = {}
    exec(f"from {module} import {name} as found", scope)
    assert scope["found"] is getattr(imported, name)
    if module in ("ttl", "ttl.block", "ttl.math", "ttl.diagnostics"):
        assert name in imported.__all__


@pytest.mark.rule("public-names")
def test_the_namespaces_are_modules() -> None:
    scope: dict[str, object] = {}
    exec("import ttl.math, ttl.block\nfrom ttl.math import exp", scope)
    assert scope["exp"] is ttl.math.exp
    assert importlib.import_module("ttl.math") is ttl.math
    assert importlib.import_module("ttl.block") is ttl.block


@pytest.mark.rule("public-names")
def test_types_are_for_annotations() -> None:
    assert (ttl.TILE_SHAPE, ttl.TILE_LAYOUT, ttl.ROW_MAJOR_LAYOUT) == (
        (32, 32),
        ttnn.TILE_LAYOUT,
        ttnn.ROW_MAJOR_LAYOUT,
    )
    assert ttl.Pipe[ttl.DstT] and tuple[ttl.Size, ttl.Shape, ttl.NodeCoord, ttl.NodeRange]


X = small(32, 32) - 3
ONES = np.ones((32, 32), np.float32)
M = ttl.math
CALLS = {
    "relu_max": (lambda x, o: M.relu_max(expr=x, upper_limit=2), lambda x, o: M.relu_max(x, 2)),
    "relu_min": (lambda x, o: M.relu_min(expr=x, lower_limit=2), lambda x, o: M.relu_min(x, 2)),
    "leaky_relu": (lambda x, o: M.leaky_relu(expr=x, slope=0.5), lambda x, o: M.leaky_relu(x, 0.5)),
    "elu": (lambda x, o: M.elu(expr=x, alpha=0.5), lambda x, o: M.elu(x, slope=0.5)),
    "celu": (lambda x, o: M.celu(expr=x, alpha=2, alpha_recip=0.5), lambda x, o: M.celu(x, 2, 0.5)),
    "prelu": (lambda x, o: M.prelu(expr=x, alpha=0.5), lambda x, o: M.prelu(x, 0.5)),
    "softplus": (
        lambda x, o: M.softplus(expr=x, beta=2, beta_reciprocal=0.5, threshold=3),
        lambda x, o: M.softplus(x, 2, 0.5, 3),
    ),
    "hardtanh": (
        lambda x, o: M.hardtanh(expr=x, min_val=-1, max_val=2),
        lambda x, o: M.hardtanh(x, min=-1, max=2),
    ),
    "selu": (
        lambda x, o: M.selu(expr=x),
        lambda x, o: M.selu(x, 1.0507009873554805, 1.6732632423543772),
    ),
    "round": (lambda x, o: M.round(expr=x, decimals=1), lambda x, o: M.round(x, 1)),
    "clamp": (lambda x, o: M.clamp(expr=x, min=-1, max=2), lambda x, o: M.clamp(x, -1, 2)),
    "threshold": (
        lambda x, o: M.threshold(expr=x, threshold=1, value=7),
        lambda x, o: M.threshold(x, 1, 7),
    ),
    "rsub": (lambda x, o: M.rsub(a=x, b=x), lambda x, o: M.rsub(x, x)),
    "exp": (lambda x, o: M.exp(expr=x), lambda x, o: M.exp(x)),
    "mask": (lambda x, o: M.mask(expr=x, mask=o), lambda x, o: M.mask(x, o)),
    "mask, its other name": (lambda x, o: M.mask(expr=x, mask_blk=o), lambda x, o: M.mask(x, o)),
    "mask_posinf": (
        lambda x, o: M.mask_posinf(expr=x, mask_blk=o),
        lambda x, o: M.mask_posinf(x, o),
    ),
    "where": (
        lambda x, o: M.where(condition=o, true_value=x, false_value=o),
        lambda x, o: M.where(o, x, o),
    ),
    "transpose": (lambda x, o: M.transpose(block=x), lambda x, o: M.transpose(x)),
    "squeeze": (lambda x, o: M.squeeze(block=M.unsqueeze(x, dims=[0]), dims=[0]), lambda x, o: x),
    "unsqueeze": (lambda x, o: M.squeeze(M.unsqueeze(block=x, dims=[0]), 0), lambda x, o: x),
    "broadcast": (
        lambda x, o: M.broadcast(block=x, dims=[-1], shape=(1, 1)),
        lambda x, o: M.broadcast(x, [-1]),
    ),
    "reduce_sum": (
        lambda x, o: M.reduce_sum(block=x, dims=[-1], shape=(1, 1)),
        lambda x, o: M.reduce_sum(x, 1, [-1]),
    ),
    "reduce_max": (
        lambda x, o: M.reduce_max(block=x, dims=[-1], shape=(1, 1)),
        lambda x, o: M.reduce_max(x, 1, [-1]),
    ),
}


def value(call) -> np.ndarray:
    def body(y, x, o):
        y.store(call(x, o + 0))

    return statement(body, X, ONES)


@pytest.mark.rule("public-names")
@pytest.mark.parametrize("name", CALLS)
def test_the_parameters_have_their_public_names(name: str) -> None:
    public, ours = CALLS[name]
    assert np.array_equal(value(public), value(ours), equal_nan=True)


@pytest.mark.rule("public-names")
@pytest.mark.parametrize(
    "call",
    [
        lambda x: M.elu(x, slope=1, alpha=1),
        lambda x: M.exp(expr=x, block=x),
    ],
    ids=["elu", "exp"],
)
def test_two_names_of_one_parameter_are_an_error(call) -> None:
    operation, tensors = computing(lambda y, x: y.store(call(x)), X)
    refused(operation, *tensors, slug="wrong-argument")


@pytest.mark.rule("public-names")
def test_what_a_buffer_and_its_blocks_tell() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(y):
        y_dfb = ttl.make_dataflow_buffer_like(likeness_tensor=y, shape=(2, 3), block_count=4)
        assert (y_dfb.shape, y_dfb.block_count) == ((2, 3), 4)
        assert (y_dfb.capacity_tiles, y_dfb.capacity_bytes) == (24, 24 * 4096)

        @ttl.compute()
        def compute():
            with y_dfb.reserve(name="result") as block:
                assert (len(block), block.shape, block.layout) == (6, (2, 3), ttl.TILE_LAYOUT)
                block.store(ttl.block.fill(1, shape=block.shape))

        @ttl.datamovement()
        def write():
            with y_dfb.wait(name="result") as block:
                transfer = ttl.copy(src=block, dst=y[0:2, 0:3])
                assert not transfer.is_completed
                transfer.wait()
                assert transfer.is_completed

    run(operation, empty(64, 96))


@pytest.mark.rule("public-names")
def test_two_likeness_tensors_are_an_error() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(y):
        ttl.make_dataflow_buffer_like(y, (1, 1), likeness_tensor=y)

    refused(operation, empty(32, 32), slug="wrong-argument")
