"""A-4: torch.ops.tt.tt_lang_op: schema, fake, allow_in_graph, refusals."""

from __future__ import annotations

import pytest
import torch
from torch._subclasses import FakeTensorMode

from torch_models import Product, multiply_only
from tt_torch.custom_ops import tt_lang_op_dispatch

SCHEMA = (
    "tt::tt_lang_op(Tensor[] tensors, str kernel_id, str arg_roles, str version_tag, "
    "str shard_spec, SymInt[] out_indices) -> Tensor[]"
)


def call(tensors, outs):
    return torch.ops.tt.tt_lang_op(tensors, "tests.add", "in,in,out", "v", "", outs)


def test_a4_schema():
    assert str(torch.ops.tt.tt_lang_op.default._schema) == SCHEMA


def test_a4_fake_is_a_clone_of_the_outs():
    with FakeTensorMode():
        x = torch.empty(2, 3, device="tt")
        y = torch.empty(4, 5, dtype=torch.bfloat16, device="tt").t()
        first, second = call([x, x, y], [2, 0])
    assert (first.shape, first.dtype, first.device) == (y.shape, y.dtype, y.device)
    assert (second.shape, second.dtype) == (x.shape, x.dtype)
    assert first is not y


@pytest.mark.parametrize("place", ["meta", "tt"])
@pytest.mark.parametrize(
    ("outs", "message"),
    [
        ([], "at least one"),
        ([3], "out of range"),
        ([-1], "out of range"),
        ([1, 1], "more than once"),
    ],
)
def test_a4_out_indices(place, outs, message):
    tensors = [torch.empty(32, 32, device=place) for _ in range(3)]
    with pytest.raises(ValueError, match=message):
        call(tensors, outs)


def test_a4_no_tensors():
    with FakeTensorMode(), pytest.raises((ValueError, NotImplementedError)):
        call([], [0])


def test_a4_cpu_is_refused():
    with pytest.raises(NotImplementedError, match=r"tt_lang_op.*CPU"):
        call([torch.ones(32, 32)] * 3, [2])


def test_a4_is_registered_for_both_devices():
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    assert [has_kernel("tt::tt_lang_op", key) for key in ("XLA", "PrivateUse1", "CPU")] == [
        True,
        True,
        False,
    ]


def test_a4_is_allowed_in_graphs():
    from torch._dynamo import trace_rules

    import tt_torch.capture  # the backend  # noqa: F401

    assert trace_rules.is_callable_allowed(torch.ops.tt.tt_lang_op)


@pytest.mark.parametrize("compiled", [False, True])
def test_a4_no_gradient_is_refused(compiled):
    model = Product(multiply_only).to("tt")
    run = torch.compile(model, backend="tt") if compiled else model
    with pytest.raises(NotImplementedError, match=r"no_grad.*backward=operation_id"):
        run(torch.ones(64, 32, device="tt")).backward()
    with torch.no_grad():
        run(torch.ones(64, 32, device="tt"))


def test_a4_keyword_wrapper():
    with FakeTensorMode():
        x = torch.empty(2, 3, device="tt")
        (result,) = tt_lang_op_dispatch(
            [x, x],
            kernel_id="k",
            arg_roles="in,out",
            version_tag="v",
            shard_spec="",
            out_indices=[1],
        )
    assert result.shape == x.shape
