"""Runs a loaded flatbuffer: calls of the embedded ttnn, and kernels on the executor.

A run calls neither the user's Python nor torch.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ttl import ttnn
from ttl.artifact import CompiledOperation
from ttl.config import Config
from ttl.diagnostics import RuleBroken, UsageError, codes, reading, usage_error
from ttl.semantics.dtypes import Array
from ttl.semantics.layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT
from ttl.target import Target, of_all_chips
from ttl.trace import Recorder
from ttl.trace.calls import Recording
from ttl.ttnn.allocation import check_l1, new_tensor
from ttl.ttnn.cores import Grid
from ttl.ttnn.device import Device
from ttl.ttnn.faults import refused
from ttl.ttnn.operations.run import unrestricted
from ttl.ttnn.tensor import Tensor

from .kernels import read_operations, target_of
from .launching import Launching, launching
from .plan import Plan, bind
from .program import (
    CallStep,
    ControlStep,
    GenericStep,
    GraphProgram,
    TensorDescription,
    TooLarge,
    check_calls,
    read_program,
)
from .reader import Malformed, read_binary
from .schema import VERSION

Launch = Callable[[CompiledOperation, Sequence[Tensor]], None]
# The memory of the smallest chip, or all that this machine has.
CHIP_BYTES = of_all_chips("dram_bytes", min)


class Runtime:
    """Loaded flatbuffer. Loading checks all of it and raises UsageError if something is wrong.

    Compiles its C++ and runs it with your permissions: only load files that you trust.
    """

    def __init__(
        self,
        binary: bytes,
        *,
        cache_dir: Path | None = None,
        memory_bytes: int | None = None,
        name: str = "the flatbuffer",
    ):
        config = Config.current()
        self._cache_dir = cache_dir or config.cache_dir
        limit = memory_bytes or min(CHIP_BYTES, _machine_bytes())
        try:
            self.programs, self._kernels, self._target = _load(bytes(memoryview(binary)), limit)
        except TooLarge as error:
            help_text = "use a smaller batch, or another element type: bfloat16 has half the bytes"
            raise _wrong(f"{name} cannot be run: {error}", help_text) from None
        except Malformed as error:
            raise _wrong(f"{name} cannot be run: {error}") from None
        self._plans: dict[int, Plan] = {}  # bound at the first run
        if self._kernels:  # compiled into the cache
            from ttl.driver.cache import keep_bounded

            keep_bounded(config)

    def with_program(self, program: GraphProgram) -> Runtime:
        """Copy this runtime with another program, which has no kernels and calls no other."""
        made = copy.copy(self)
        made.programs, made._kernels, made._plans = [program], {}, {}
        return made

    def operations(self, program: int = 0) -> list[CompiledOperation]:
        """Return a program's kernels, in the order of its calls."""
        of_program = [each for (number, _), each in self._kernels.items() if number == program]
        return [operations[0] for operations in of_program]

    @classmethod
    def from_file(cls, file: str | Path, **options: Any) -> Runtime:
        with reading(file):
            binary = Path(file).read_bytes()
        return cls(binary, name=str(file), **options)

    def run(
        self, inputs: Sequence[object], *, program: int = 0, recorder: Recorder | None = None
    ) -> list[np.ndarray]:
        """Run a program on inputs in its order and return its outputs as fresh arrays.

        Inputs are numpy arrays, or torch tensors on the CPU. Outputs have the element types of
        the flatbuffer, bfloat16 from ml_dtypes; booleans are bfloat16, 0 or 1, and 64 bits have
        become 32. Raises UsageError if inputs do not fit, KernelFault from kernels.
        """
        return self.run_with(launching(), inputs, program, recorder)

    def run_with(
        self,
        how: Launching,
        inputs: Sequence[object],
        program: int = 0,
        recorder: Recorder | None = None,
    ) -> list[np.ndarray]:
        """Run a program as run() does, with given options."""
        launch = partial(how.launch, cache_dir=self._cache_dir, recorder=recorder)
        if program not in range(len(self.programs)):
            raise _wrong_input(f"there are {len(self.programs)} programs, and not one {program}")
        try:
            return self._plan(program).run(_inputs(self.programs[program], inputs), launch)
        except RuleBroken as broken:  # by the elements of an operation
            raise refused(broken) from None
        except MemoryError:
            name = self.programs[program].name
            raise _wrong(f"this machine has too little memory to run `{name}`") from None

    @property
    def target(self) -> Target:
        return self._target

    @property
    def has_kernels(self) -> bool:
        return bool(self._kernels)

    def record(self, program: int, position: int) -> Iterator[tuple[CompiledOperation, Recording]]:
        """Record the calls of a step's kernels on tensors of zeros, for estimates."""
        from ttl.host import record

        step, device = self.programs[program].steps[position], Device(0, self._target)
        assert isinstance(step, GenericStep)
        tensors = [
            _make_tensor(np.zeros(each.shape, each.dtype.carrier), each, device)
            for each in self.programs[program].described(step.tensors)
        ]
        for operation in self._kernels[program, position]:
            own = [tensor.storage for tensor in tensors[: len(operation.operands)]]
            yield operation, record(operation, own, cache_dir=self._cache_dir)

    def _plan(self, program: int) -> Plan:
        if program not in self._plans:
            self._plans[program] = self._bind(program)
        return self._plans[program]

    def _bind(self, program: int) -> Plan:
        chosen, device = self.programs[program], Device(0, self._target)
        for each in chosen.tensors.values():
            check_l1(Tensor.described(each, device), device)
        return bind(
            chosen,
            partial(_make_tensor_function, device),
            partial(self._make_kernels, program),
            partial(self._make_control, program),
        )

    def _make_control(self, program: int, step: ControlStep) -> Callable[..., list[Array]]:
        """Make the function of a loop or a branch, which runs the plans of other programs."""
        given = self.programs[program].described(step.inputs)
        wanted = self.programs[program].described(step.outputs)

        def run(launch: Launch, *arrays: Array) -> list[Array]:
            pairs = zip(arrays, given, strict=True)
            values = [array.astype(each.dtype.storage, copy=False) for array, each in pairs]
            found = self._control(step, values, launch)
            return [
                array.astype(each.dtype.carrier, copy=False)
                for array, each in zip(found, wanted, strict=True)
            ]

        return run

    def _control(self, step: ControlStep, values: list[Array], launch: Launch) -> list[Array]:
        if not step.is_loop:
            index, last = int(values[0]), len(step.programs) - 1
            chosen = step.programs[index if 0 <= index <= last else last]
            return self._plan(chosen).run(values[1:], launch)
        condition, body = (self._plan(each) for each in step.programs)
        count = len(step.outputs)
        while condition.run(values, launch)[0]:
            values = [*body.run(values, launch), *values[count:]]
        return values[:count]

    def _make_kernels(
        self, program: int, position: int, step: GenericStep
    ) -> Callable[..., list[Array]]:
        operations = self._kernels[program, position]
        described = self.programs[program].described(step.tensors)
        device = Device(0, self._target)

        def run(launch: Launch, *arrays: Array) -> list[Array]:
            made: dict[int, Tensor] = {}  # one that is given twice is one tensor
            for number, array, each in zip(step.tensors, arrays, described, strict=True):
                if number not in made:
                    made[number] = _make_tensor(array, each, device)
            tensors = [made[number] for number in step.tensors]
            for operation in operations:
                launch(operation, tensors[: len(operation.operands)])  # scratch is the executor's
            return [_elements(tensor) for tensor in tensors]

        return run


def run_traced(
    runtime: Runtime, inputs: Sequence[object], config: Config | None = None
) -> list[np.ndarray]:
    """The outputs of the first program. With TTL_TRACE=FILE what the kernels do goes to the file,
    also of a run that fails.
    """
    how = launching(config)
    with how.traces.recorded(how.config) as recorder:
        return runtime.run_with(how, inputs, recorder=recorder)


# Loading ------------------------------------------------------------------------------------------

Kernels = dict[tuple[int, int], list[CompiledOperation]]


def _load(binary: bytes, memory_bytes: int) -> tuple[list[GraphProgram], Kernels, Target]:
    value = read_binary(binary)
    _check_version(value["version"])
    if not value["programs"]:
        raise Malformed("it has no program")
    target = target_of(value["programs"])
    cores = Grid(*target.default_grid)
    source = value["mlir"]["source"] if value["mlir"] else ""
    programs = [read_program(each, cores, memory_bytes, source) for each in value["programs"]]
    check_calls(programs)
    kernels = {
        (number, position): read_operations(step, program.described(step.tensors), target)
        for number, program in enumerate(programs)
        for position, step in enumerate(program.steps)
        if isinstance(step, GenericStep)
    }
    return programs, kernels, target


def _check_version(version: Mapping[str, int] | None) -> None:
    if version is None:
        raise Malformed("it has no version")
    if (version["major"], version["minor"]) != (VERSION["major"], VERSION["minor"]):
        found = ".".join(str(version[part]) for part in ("major", "minor", "patch"))
        wanted = f"{VERSION['major']}.{VERSION['minor']}"
        raise Malformed(f"it has version {found}, and this runtime reads {wanted}")


def _machine_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return CHIP_BYTES


AGAIN = "write the file again, with tt_torch.export(...).save(FILE) or ttl opt --flatbuffer"


def _wrong(message: str, help_text: str = AGAIN) -> UsageError:
    return usage_error(codes.NOT_A_FLATBUFFER, message, help_text)


# Tensors ------------------------------------------------------------------------------------------


def _inputs(program: GraphProgram, given: Sequence[Any]) -> list[Array]:
    wanted = program.described(program.inputs)
    if len(given) != len(wanted):
        raise _wrong_input(f"`{program.name}` has {len(wanted)} inputs, not {len(given)}")
    arrays = []
    for position, (value, described) in enumerate(zip(given, wanted, strict=True)):
        value = value if hasattr(value, "shape") else np.asarray(value)
        if tuple(value.shape) != described.shape:
            name = _name(program, position)
            raise _wrong_input(f"{name} has shape {tuple(value.shape)}, not {described.shape}")
        is_as_stored = type(value) is np.ndarray and value.dtype == described.dtype.storage
        if not is_as_stored or described.dtype.is_block_float:
            value = _convert(value, described, _name(program, position))
        arrays.append(value)
    return arrays


def _name(program: GraphProgram, position: int) -> str:
    own = dict(enumerate(program.input_names)).get(position)
    return f"input {f'`{own}`' if own else position} of `{program.name}`"


def _convert(value: object, described: TensorDescription, name: str) -> Array:
    """Return the elements of a tensor made from the value."""
    is_torch = type(value).__module__.partition(".")[0] == "torch"
    make = ttnn.from_torch if is_torch else ttnn.from_numpy
    if not described.dtype.is_float:
        _check_range(value, described, name)
        if type(value) is np.ndarray and value.dtype.kind in "iu":
            return value.astype(described.dtype.storage)
    # The elements do not depend on the layout, and rows need no padding.
    layout = TILE_LAYOUT if described.dtype.is_block_float else ROW_MAJOR_LAYOUT
    tensor: Tensor = make(value, dtype=described.dtype, layout=layout)
    return tensor.storage.logical


def _check_range(value: object, described: TensorDescription, name: str) -> None:
    """Check that values fit: lowering made 64 bits 32, so large numbers must not wrap around, and
    fractions must not become whole numbers.
    """
    values = np.asarray(value)
    limits = np.iinfo(described.dtype.spelling)
    if values.dtype.kind not in "biuf":  # not numbers: the conversion reports it
        return
    if values.dtype.kind == "f" and not np.array_equal(values, np.trunc(values)):
        raise _wrong_input(f"{name} has numbers that are not whole, and {described.dtype} is")
    if values.size and (values.min() < limits.min or values.max() > limits.max):
        raise _wrong_input(f"{name} has numbers that {described.dtype.spelling} cannot hold")


def _wrong_input(message: str) -> UsageError:
    return usage_error(codes.WRONG_ARGUMENT, message)


# Calls --------------------------------------------------------------------------------------------


def _make_tensor(array: Array, described: TensorDescription, device: Device) -> Tensor:
    tensor = new_tensor(
        described.shape, described.dtype, described.layout, device, described.memory_config
    )
    tensor.storage.fill(array)
    return tensor


def _elements(tensor: Tensor) -> Array:
    """rule CARRIER"""
    return tensor.storage.logical.astype(tensor.dtype.carrier, copy=False)


def _make_tensor_function(
    device: Device, step: CallStep, given: Sequence[TensorDescription], out: TensorDescription
) -> Callable[..., Array]:
    function = partial(unrestricted(getattr(ttnn, step.operation)), dtype=out.dtype)

    def call(*arrays: Array) -> Array:
        pairs = zip(arrays, given, strict=True)
        result = function(*(_make_tensor(array, each, device) for array, each in pairs))
        return _elements(result if result.dtype is out.dtype else ttnn.typecast(result, out.dtype))

    return call
