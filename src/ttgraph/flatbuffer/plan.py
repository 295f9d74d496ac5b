"""Binds a program once, to a list of functions of arrays that every run calls in order.

rule SLOT    every value has its own slot, even if the file uses a tensor's id again
rule ONCE    values that depend on no input are computed when the program is bound, unless they are
             large; a run calls the same function of the same slots once
rule LOOSE   an operation that broadcasts takes its inputs before they are expanded
rule CHAIN   of consecutive reshapes only the last is made
rule LIFE    a value is dropped after its last use, and unused values are not computed; kernels
             always run
rule OWN     shared arrays, the caller's and constants, are marked read-only; an output that is one
             of them, or that shares memory with another output, is copied
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter, methodcaller
from typing import Any

import numpy as np

from ttgraph.graph_shapes import broadcast_shape
from ttl.diagnostics import RuleBroken, TTLError
from ttl.semantics.dtypes import Array

from .array_steps import COPIES, VIEWS, make_array_step, make_filled_step, make_view_step
from .program import CallStep, ControlStep, FreeStep, GenericStep, GraphProgram, TensorDescription

LAUNCH = 0  # the slot of what the run gives to its kernels
MOST_KEPT_BYTES = 1 << 28  # of what is computed when the program is bound

Function = Callable[..., Any]
# Functions of arrays for steps that only the embedded ttnn can compute, and for kernels.
OfTensors = Callable[[CallStep, Sequence[TensorDescription], TensorDescription], Function]
OfKernels = Callable[[int, GenericStep], Function]
OfControl = Callable[[ControlStep], Function]


@dataclass(frozen=True, slots=True)
class BoundStep:
    function: Function
    inputs: tuple[int, ...]
    output: int
    last_uses: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """`constants` has an entry for each slot. Threads can run one plan at the same time."""

    inputs: tuple[int, ...]  # a slot of each input of the program
    outputs: tuple[tuple[int, np.dtype[np.generic]], ...]
    steps: tuple[BoundStep, ...]
    constants: tuple[object, ...]

    def run(self, arrays: Sequence[Array], launch: object = None) -> list[Array]:
        """Arrays that nobody else has, for arrays in the storage types of the inputs."""
        slots = list(self.constants)
        slots[LAUNCH] = launch
        for slot, array in zip(self.inputs, arrays, strict=True):
            slots[slot] = read_only(array)
        with np.errstate(all="ignore"):  # infinities and NaNs, as on the chip
            for step in self.steps:
                slots[step.output] = step.function(*[slots[each] for each in step.inputs])
                for each in step.last_uses:
                    slots[each] = None
        return self._copy_shared(slots)

    def _copy_shared(self, slots: Sequence[Any]) -> list[Array]:
        """rule OWN"""
        found: list[Array] = []
        given: set[int] = set()
        for slot, storage in self.outputs:
            value = slots[slot]
            memory = _memory(value)
            is_free = value.flags.writeable and value.flags.c_contiguous
            if not is_free or id(memory) in given or memory.nbytes != value.nbytes:
                value = value.astype(storage, order="C")
            given.add(id(memory))
            found.append(value.astype(storage, copy=False))
        return found


def read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def _memory(value: Array) -> Array:
    while isinstance(value.base, np.ndarray):
        value = value.base
    return value


def bind(
    program: GraphProgram, of_tensors: OfTensors, of_kernels: OfKernels, of_control: OfControl
) -> Plan:
    """Bind a program; runs, not this, report errors that depend on elements."""
    binding = _Binding(program, of_tensors)
    for position, step in enumerate(program.steps):
        if isinstance(step, CallStep):
            binding.step(step)
        elif isinstance(step, GenericStep):
            binding.kernels(step.tensors, step.tensors, of_kernels(position, step))
        elif isinstance(step, ControlStep):
            binding.kernels(step.inputs, step.outputs, of_control(step))
        elif isinstance(step, FreeStep):
            del binding.now[step.tensor]
    outputs = tuple(
        (binding.now[each], program.tensors[each].dtype.storage) for each in program.outputs
    )
    return _drop_unused(binding, outputs)


class _Binding:
    def __init__(self, program: GraphProgram, of_tensors: OfTensors):
        self.program, self.of_tensors = program, of_tensors
        self.shapes: list[tuple[int, ...]] = [()]  # of each slot; the first is that of LAUNCH
        self.steps: list[BoundStep] = []
        self.constants: dict[int, Array] = {}
        self.inputs = tuple(self._slot(each.shape) for each in program.described(program.inputs))
        self.now = dict(zip(program.inputs, self.inputs, strict=True))  # the slot of each tensor
        self.stored = {  # rule CARRIER: the slots that still have the caller's type
            slot
            for slot, each in zip(self.inputs, program.described(program.inputs), strict=True)
            if each.dtype.storage != each.dtype.carrier
        }
        self.made: dict[Hashable, int] = {}  # rule ONCE
        self.reshaped: dict[int, int] = {}  # rule CHAIN: the slot that a slot is reshaped from
        self.loose: dict[int, int] = {}  # rule LOOSE
        self.kept_bytes = 0

    def step(self, step: CallStep) -> None:
        out = self.program.tensors[step.output]
        slots = [self.now[each] for each in step.inputs]
        given = self.program.described(step.inputs)
        if step.operation in VIEWS:
            found = self._view(step, slots[0], out.shape)
        elif step.operation in COPIES and given[0].dtype is out.dtype:
            found = slots[0]
        elif step.operation == "constant":
            found = self._constant(step, out)
        elif (make := make_filled_step(step, out)) is not None:
            key = step.operation, _hashable(step.attributes), out.shape, out.dtype
            found = self._add_once(key, make, [], out.shape)
        else:
            found = self._compute(step, slots, given, out)
        self.now[step.output] = found

    def kernels(
        self, inputs: tuple[int, ...], outputs: tuple[int, ...], function: Function
    ) -> None:
        """Add kernels, or called programs: a function that returns several arrays."""
        given = self.program.described(inputs)
        slots = [
            self._convert_to_carrier(self.now[each], it)
            for each, it in zip(inputs, given, strict=True)
        ]
        launched = self._slot(())
        self.steps.append(BoundStep(function, (LAUNCH, *slots), launched))
        for place, tensor in enumerate(outputs):
            shape = self.program.tensors[tensor].shape
            self.now[tensor] = self._add(itemgetter(place), [launched], shape)

    def _compute(
        self,
        step: CallStep,
        slots: list[int],
        given: list[TensorDescription],
        out: TensorDescription,
    ) -> int:
        bound = make_array_step(step, given, out)
        if bound is None:
            carried = [
                self._convert_to_carrier(each, it) for each, it in zip(slots, given, strict=True)
            ]
            return self._add(self.of_tensors(step, given, out), carried, out.shape)
        if bound.broadcasts:
            slots = self._loosen(slots, out.shape)
        carried = [
            slot if carrier is None else self._convert_to_carrier(slot, it, carrier)
            for slot, it, carrier in zip(slots, given, bound.carriers, strict=True)
        ]
        key = step.operation, tuple(carried), _hashable(step.attributes), out.shape, out.dtype
        found = self._add_once(key, bound.function, carried, out.shape)
        if any(slot in self.stored for slot in carried):  # steps that move elements keep their type
            self.stored.add(found)
        return found

    def _view(self, step: CallStep, slot: int, shape: tuple[int, ...]) -> int:
        name = step.operation
        source = self.reshaped.get(slot, slot) if name == "reshape" else slot  # rule CHAIN
        if shape == self.shapes[source] and name != "permute":
            return source
        key = name, source, shape, _hashable(step.attributes)
        found = self._add_once(key, make_view_step(step, shape), [source], shape)
        if source in self.stored:
            self.stored.add(found)
        if name == "reshape":
            self.reshaped[found] = source
        leading = len(shape) - len(self.shapes[slot])
        only_leads = name == "reshape" and shape == (1,) * leading + self.shapes[slot]
        if name == "expand" or only_leads:
            self.loose[found] = self.loose.get(slot, slot)
        return found

    def _loosen(self, slots: list[int], shape: tuple[int, ...]) -> list[int]:
        """rule LOOSE"""
        loose = [self.loose.get(each, each) for each in slots]
        for candidate in (loose, [slots[0], *loose[1:]]):
            if broadcast_shape([self.shapes[each] for each in candidate], {}) == shape:
                return candidate
        return slots

    def _convert_to_carrier(
        self, slot: int, described: TensorDescription, carrier: np.dtype[np.generic] | None = None
    ) -> int:
        """rule CARRIER: return the slot with the elements in a type to compute in."""
        own, wanted = described.dtype.carrier, carrier or described.dtype.carrier
        if slot not in self.stored and own == wanted:
            return slot
        key = "carried", slot, wanted
        return self._add_once(key, methodcaller("astype", wanted), [slot], self.shapes[slot])

    def _constant(self, step: CallStep, out: TensorDescription) -> int:
        """Add a constant, in its storage type: the file's bytes are its elements."""
        found = self._slot(out.shape)
        self.constants[found] = np.frombuffer(step.data, out.dtype.storage).reshape(out.shape)
        if out.dtype.storage != out.dtype.carrier:
            self.stored.add(found)
        return found

    def _add_once(
        self, key: Hashable, function: Function, slots: Sequence[int], shape: tuple[int, ...]
    ) -> int:
        """rule ONCE"""
        if key not in self.made:
            self.made[key] = self._add(function, slots, shape)
        return self.made[key]

    def _add(self, function: Function, slots: Sequence[int], shape: tuple[int, ...]) -> int:
        slot = self._slot(shape)
        if all(each in self.constants for each in slots):
            kept = self._fold(function, [self.constants[each] for each in slots])
            if kept is not None:
                self.constants[slot] = kept
                return slot
        self.steps.append(BoundStep(function, tuple(slots), slot))
        return slot

    def _fold(self, function: Function, arrays: Sequence[Array]) -> Array | None:
        try:
            with np.errstate(all="ignore"):
                value = read_only(np.asarray(function(*arrays)))
        except (TTLError, RuleBroken, MemoryError):  # a run reports it
            return None
        self.kept_bytes += _memory(value).nbytes
        return value if self.kept_bytes <= MOST_KEPT_BYTES else None

    def _slot(self, shape: tuple[int, ...]) -> int:
        self.shapes.append(shape)
        return len(self.shapes) - 1


def _hashable(attributes: Mapping[str, object]) -> Hashable:
    return tuple(
        (name, tuple(value) if isinstance(value, (list, tuple)) else repr(value))  # -0.0 is not 0.0
        for name, value in sorted(attributes.items())
    )


def _drop_unused(binding: _Binding, outputs: tuple[tuple[int, np.dtype[np.generic]], ...]) -> Plan:
    """rule LIFE"""
    used = {slot for slot, _ in outputs} | {LAUNCH}
    steps: list[BoundStep] = []
    for step in reversed(binding.steps):
        if step.output not in used and LAUNCH not in step.inputs:
            continue
        last_uses = tuple(sorted({*step.inputs, step.output} - used - binding.constants.keys()))
        used.update(step.inputs)
        steps.append(BoundStep(step.function, step.inputs, step.output, last_uses))
    constants: list[Array | None] = [None] * len(binding.shapes)
    for slot, value in binding.constants.items():
        if slot in used:
            constants[slot] = value
    return Plan(binding.inputs, outputs, tuple(reversed(steps)), tuple(constants))
