"""Runs graphs: StableHLO -> flatbuffer -> runtime; each text is compiled once per process."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import torch
from torch import Tensor, fx

from ttgraph.flatbuffer import Runtime, compile_module, run_traced
from ttgraph.flatbuffer.program import GraphProgram
from ttgraph.flatbuffer.wide import widen_program
from ttl.config import Config
from ttl.dialects import print_module
from ttl.loading.recent import Recent

from .device import NAME, on_host, on_tt
from .lowering import draws, emit_module
from .registry import get_registered_operation

MOST_KEPT = 1000
_RUNTIMES: Recent[Runtime] = Recent(MOST_KEPT)
_KERNEL_ID = re.compile(r'kernel_id = "((?:[^"\\]|\\.)*)"')


class Executable:
    """Functional aten graph as a function of a list of tensors."""

    def __init__(self, graph: fx.GraphModule):
        self.draws = draws(graph)
        module = emit_module(graph)
        self.stablehlo = print_module(module)
        self.outputs = _outputs(graph)
        config = Config.current()
        is_wide = _has_only_64_bits(graph)
        self.runtime = _RUNTIMES.get(
            (is_wide, _content(self.stablehlo, config)),
            lambda: _runtime(module, is_wide),
        )

    @property
    def program(self) -> GraphProgram:
        return self.runtime.programs[0]

    def __call__(self, inputs: Sequence[Any]) -> list[Tensor | None]:
        """Run the flatbuffer: calls neither the model nor torch's compute functions."""
        arrays = [to_numpy(each) for each in inputs if isinstance(each, Tensor)]
        if self.draws:
            arrays.append(new_seed())
        found = iter(run_traced(self.runtime, arrays))
        return [None if like is None else from_numpy(next(found), like) for like in self.outputs]


def _has_only_64_bits(graph: fx.GraphModule) -> bool:
    """Have all integers 64 bits? Shorter ones would have to wrap around."""
    values = [node.meta.get("val") for node in graph.graph.nodes]
    found = {each.dtype for each in values if isinstance(each, Tensor)}
    return torch.int64 in found and not found & {torch.int32, torch.int16, torch.int8}


def _runtime(module: Any, is_wide: bool) -> Runtime:
    made = Runtime(compile_module(module))
    program = widen_program(made.programs[0]) if is_wide else None
    return made if program is None else made.with_program(program)


def new_seed() -> Any:
    """Draw a run's seed from the CPU's generator, so that torch.manual_seed() makes runs
    reproducible.
    """
    return torch.empty(2, dtype=torch.int32).random_(-(2**31), 2**31).numpy().view(np.uint32)


def _outputs(graph: fx.GraphModule) -> list[Tensor | None]:
    """Return sample tensors of the outputs, in order; None for outputs that are None."""
    (output,) = (node for node in graph.graph.nodes if node.op == "output")
    flat = output.args[0] if isinstance(output.args[0], (list, tuple)) else [output.args[0]]
    return [each.meta["val"] if isinstance(each, fx.Node) else None for each in flat]


def _content(text: str, config: Config) -> Any:
    """Return an executable's dependencies: its text, the operations it calls, and the options."""
    ids = sorted(set(_KERNEL_ID.findall(text)))
    options = replace(config, trace=None, trace_events=None)
    return text, tuple(get_registered_operation(each) for each in ids), options


# Elements -----------------------------------------------------------------------------------------


def to_numpy(tensor: Tensor) -> Any:
    """Return a tensor's elements; bfloat16 has ml_dtypes' type, complex numbers are pairs."""
    host = on_host(tensor).detach()
    if host.dtype.is_complex:
        host = torch.view_as_real(host.resolve_conj())
    host = host.contiguous()
    if host.dtype is torch.bfloat16:
        return host.view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    return host.numpy()


def from_numpy(array: Any, like: Tensor) -> Tensor:
    """Make a tensor on the device of `like`, in its element type: the runtime has fewer types."""
    if like.dtype.is_complex:
        pairs = np.ascontiguousarray(array, np.float32).reshape(*like.shape, 2)
        host = torch.view_as_complex(torch.from_numpy(pairs)).to(like.dtype)
    elif like.dtype is torch.bfloat16:
        words = np.ascontiguousarray(array, dtype=ml_dtypes.bfloat16).view(np.uint16)
        host = torch.from_numpy(words).view(torch.bfloat16)
    else:
        name = str(like.dtype).removeprefix("torch.")
        host = torch.from_numpy(np.ascontiguousarray(array, dtype=np.dtype(name)))
    host = host.reshape(like.shape)
    return on_tt(host) if like.device.type == NAME else host
