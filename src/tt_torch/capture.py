"""torch.compile(model, backend="tt") and export: one functional graph of aten operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from threading import RLock
from typing import Any

import torch
from functorch.compile import make_boxed_func
from torch import fx
from torch._functorch.aot_autograd import aot_module_simplified

from ttl.driver.recent import Recent

from . import fast_paths
from .executable import MOST_KEPT, Executable

torch.compiler.allow_in_graph(torch.ops.tt.tt_lang_op)
aten = torch.ops.aten
BACKEND = "tt"
TRACING = RLock()  # torch traces in one thread at a time


@cache
def decompositions() -> dict[Any, Callable[..., Any]]:
    """What is taken apart before it is lowered: torch's core set, and of that what is composed."""
    composed = (
        aten._softmax, aten._safe_softmax, aten._log_softmax, aten.native_layer_norm,
        aten.native_group_norm, aten._native_batch_norm_legit,
        aten._native_batch_norm_legit_functional, aten._native_batch_norm_legit_no_training,
        aten.silu, aten.leaky_relu, aten.elu, aten.hardswish, aten.hardsigmoid, aten.softplus,
        aten.linalg_vector_norm, aten.tril, aten.triu, aten.rsub, aten.lerp, aten.addcmul,
        aten.addcdiv, aten.addmv, aten.stack, aten.mse_loss, aten.upsample_bilinear2d,
        aten.upsample_nearest2d,
        # and their gradients
        aten._softmax_backward_data, aten._log_softmax_backward_data,
        aten.native_layer_norm_backward, aten.native_group_norm_backward,
        aten.native_batch_norm_backward, aten.gelu_backward, aten.silu_backward,
        aten.leaky_relu_backward, aten.elu_backward, aten.hardswish_backward,
        aten.tanh_backward, aten.sigmoid_backward, aten.threshold_backward, aten.mse_loss_backward,
    )  # fmt: skip
    table = dict(torch._decomp.core_aten_decompositions())
    table.update(torch._decomp.get_decompositions(composed))
    # lowered, not taken apart into what is not
    for packet in (aten.var, aten.var_mean, aten.std, aten.embedding_dense_backward):
        for name in packet.overloads():
            table.pop(getattr(packet, name), None)
    return table | fast_paths.DECOMPOSITIONS


@contextmanager
def constants_on_cpu() -> Iterator[None]:
    """torch.tensor([...], device="tt") in a model is captured as a constant that is moved."""
    before = torch._C._only_lift_cpu_tensors()
    torch._C._set_only_lift_cpu_tensors(True)
    try:
        yield
    finally:
        torch._C._set_only_lift_cpu_tensors(before)


class Compiled:
    """A graph of dynamo, compiled when it is called for the sizes of the call.

    So sizes that dynamo leaves open are known, and what is wrong with the model is reported to the
    caller as it is, not wrapped by dynamo.
    """

    def __init__(self, graph: fx.GraphModule, inputs: Sequence[Any], **_: Any):
        self.graph = graph
        self.compiled: Recent[Callable[..., Any]] = Recent(MOST_KEPT)

    def __call__(self, *inputs: Any) -> Any:
        key = tuple(
            (tuple(each.shape), each.dtype, each.device, each.requires_grad)
            if isinstance(each, torch.Tensor)
            else each
            for each in inputs
        )
        return self.compiled.get(key, lambda: _compile(self.graph, inputs))(*inputs)


def _compile(graph: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
    with TRACING, constants_on_cpu():
        compiled: Callable[..., Any] = aot_module_simplified(
            graph, inputs, fw_compiler=_executable, decompositions=decompositions()
        )
    return compiled


def _executable(graph: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
    executable = Executable(graph)

    def run(*tensors: Any) -> list[Any]:
        return executable(tensors)

    boxed: Callable[..., Any] = make_boxed_func(run)
    return boxed


def register() -> None:
    """Make the backend known to torch.compile, which has not found it as an entry point."""
    if BACKEND not in torch._dynamo.list_backends(exclude_tags=()):
        torch._dynamo.register_backend(Compiled, name=BACKEND)
