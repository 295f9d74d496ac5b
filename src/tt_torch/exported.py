"""Exports a model as one StableHLO module, and as a flatbuffer that runs without torch."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree

from ttl.diagnostics import writing
from ttl.dialects import print_module

from .capture import TRACING, constants_on_cpu
from .decompositions import decompositions
from .device import NAME
from .executable import new_seed, to_numpy
from .lowering import SEED_NAME, draws, emit_module

_WRITTEN = (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION)


@dataclass(frozen=True, slots=True)
class Exported:
    """A captured model. Its inputs are its parameters and buffers, then the arguments of a call,
    then `random_seed` if it draws random numbers: two words, of which all of them are made. Its
    outputs are the new values of what the model writes into, then what it returns.
    """

    program: ExportedProgram
    functional: bool = False

    @property
    def stablehlo(self) -> str:
        """The module as text that MLIR reads."""
        return print_module(self._module())

    def flatbuffer(self) -> bytes:
        """The bytes of a .ttnn file, kernels included."""
        from ttgraph.flatbuffer import compile_module

        return compile_module(self._module())

    def save(self, file: str | Path) -> None:
        """Write the flatbuffer. `inputs` belong beside it: parameters are not part of it."""
        binary = self.flatbuffer()
        with writing(file):
            Path(file).write_bytes(binary)

    def inputs(self, *args: Any, **kwargs: Any) -> list[Any]:
        """The arrays that the flatbuffer takes for these arguments: parameters first. A seed is
        drawn as torch.compile does it, after torch.manual_seed() the same one.
        """
        leaves = pytree.tree_leaves((args, self._in_order(kwargs)))
        specs = self.program.graph_signature.input_specs
        wanted = sum(each.kind is InputKind.USER_INPUT for each in specs)
        if len(leaves) != wanted:
            raise TypeError(f"the model was captured with {wanted} arguments, not {len(leaves)}")
        given = iter(leaves)
        held = {**self.program.state_dict, **self.program.constants}
        values = [
            next(given) if each.kind is InputKind.USER_INPUT else held[each.target]
            for each in specs
        ]
        arrays = [to_numpy(each) for each in values if isinstance(each, Tensor)]
        return [*arrays, new_seed()] if draws(self.program.graph_module) else arrays

    def named_inputs(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """As inputs(), by the names that the file has: numpy.savez(FILE, **named_inputs(...))."""
        return dict(zip(self.input_names, self.inputs(*args, **kwargs), strict=True))

    def _in_order(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return keyword arguments in their order at the capture."""
        spec = self.program.call_spec.in_spec
        known = spec.child(1).context if spec is not None else []
        if sorted(known) != sorted(kwargs):
            wanted = ", ".join(map(str, known)) or "none"
            raise TypeError(
                f"the model was captured with these keyword arguments: {wanted}; not with "
                f"{', '.join(kwargs) or 'none'}"
            )
        return {name: kwargs[name] for name in known}

    @property
    def input_names(self) -> list[str]:
        """List the names of parameters and buffers in the model's order, then of the arguments."""
        signature = self.program.graph_signature
        values = {node.name: node.meta.get("val") for node in self.program.graph_module.graph.nodes}
        names = [
            str(each.target or each.arg.name)
            for each in signature.input_specs
            if isinstance(values.get(each.arg.name), Tensor)
        ]
        return [*names, SEED_NAME] if draws(self.program.graph_module) else names

    @property
    def output_names(self) -> list[str]:
        """List the names of tensors that the model writes; results are numbered."""
        names = list(self.written)
        (output,) = (n for n in self.program.graph_module.graph.nodes if n.op == "output")
        tensors = sum(isinstance(each, torch.fx.Node) for each in pytree.tree_leaves(output.args))
        return names + [f"output_{n}" for n in range(tensors - len(names))]

    @property
    def written(self) -> list[str]:
        """The buffers and arguments that the model writes into: they are the first outputs."""
        specs = self.program.graph_signature.output_specs
        return [str(each.target) for each in specs if each.kind in _WRITTEN]

    def _module(self) -> Any:
        names = self.input_names, self.output_names
        return emit_module(self.program.graph_module, functional=self.functional, names=names)


def export(
    model: nn.Module,
    args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    functional: bool = False,
) -> Exported:
    """Capture a model for such arguments, all of it in one graph.

    A model and arguments on the CPU are captured as if they were on device "tt". `functional`
    leaves the "out" operands out of the calls of TT-Lang operations, as newer tt-mlir has it.
    """
    if not isinstance(model, nn.Module) or isinstance(args, Tensor):
        raise TypeError("export takes a torch.nn.Module and a tuple of its arguments")
    placed = copy.deepcopy(model).to(NAME)
    moved, named = pytree.tree_map_only(
        Tensor, lambda each: each.to(NAME), (tuple(args), dict(kwargs or {}))
    )
    with TRACING(), torch.no_grad(), constants_on_cpu(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*LeafSpec", FutureWarning)  # about torch itself
        with torch.device(NAME):  # where tensors are that the model makes itself
            program = torch.export.export(placed, moved, named, strict=False)
        return Exported(program.run_decompositions(decompositions()), functional)
