"""Runs a loaded flatbuffer: calls of the embedded ttnn, and kernels on the executor.

Nothing of the user's Python and nothing of torch is called while it runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ttl import ttnn
from ttl.artifact import CompiledOperation
from ttl.config import Config
from ttl.diagnostics import RuleBroken, UsageError, codes, file_not_usable
from ttl.semantics.along import ALONG
from ttl.semantics.graph_ops import REDUCTIONS
from ttl.target import Target, of_all_chips
from ttl.trace import Recorder
from ttl.ttnn.cores import Grid
from ttl.ttnn.device import Device
from ttl.ttnn.operations.run import unrestricted
from ttl.ttnn.tensor import Tensor

from .kernels import compiled_operations, target_of
from .program import (
    ControlStep,
    FreeStep,
    GenericStep,
    Program,
    Step,
    TensorDescription,
    check_calls,
    read_program,
)
from .reader import Malformed, read_binary
from .schema import VERSION

# The memory of the smallest chip, or all that this machine has.
CHIP_BYTES = of_all_chips("dram_bytes", min)


class Runtime:
    """A loaded flatbuffer. Loading checks all of it: UsageError for what is not right.

    The C++ in it is compiled and run with the rights of the caller: load only what you would run.
    """

    def __init__(
        self,
        binary: bytes,
        *,
        cache_dir: Path | None = None,
        memory_bytes: int | None = None,
        name: str = "the flatbuffer",
    ):
        self._cache_dir = cache_dir or Config.current().cache_dir
        limit = memory_bytes or min(CHIP_BYTES, _machine_bytes())
        try:
            self.programs, self._kernels, self._target = _load(bytes(memoryview(binary)), limit)
        except Malformed as error:
            raise _wrong(f"{name} cannot be run: {error}") from None

    @classmethod
    def from_file(cls, file: str | Path, **options: Any) -> Runtime:
        try:
            binary = Path(file).read_bytes()
        except OSError as error:
            raise file_not_usable(file, error) from None
        return cls(binary, name=str(file), **options)

    def run(
        self, inputs: Sequence[Any], *, program: int = 0, recorder: Recorder | None = None
    ) -> list[np.ndarray]:
        """The outputs of a program, as fresh arrays, for inputs in its order.

        Inputs are numpy arrays, or torch tensors on the CPU. Outputs have the element types of
        the flatbuffer, bfloat16 as that of ml_dtypes; what was boolean is bfloat16, 0 or 1, and 64
        bits have become 32. UsageError for inputs that do not fit; KernelFault from kernels.
        """
        if program not in range(len(self.programs)):
            raise _wrong_input(f"there are {len(self.programs)} programs, and not one {program}")
        try:
            return self._run(program, inputs, recorder)
        except MemoryError:
            name = self.programs[program].name
            raise _wrong(f"this machine has too little memory to run `{name}`") from None

    def _run(
        self, program: int, inputs: Sequence[Any], recorder: Recorder | None
    ) -> list[np.ndarray]:
        chosen = self.programs[program]
        device = Device(0, self._target)
        pool = _inputs(chosen, inputs, device)
        self._steps(program, pool, device, recorder)
        return [ttnn.to_numpy(pool[each]) for each in chosen.outputs]

    def _called(
        self, program: int, inputs: Sequence[Tensor], device: Device, recorder: Recorder | None
    ) -> list[Tensor]:
        chosen = self.programs[program]
        pool = dict(zip(chosen.inputs, inputs, strict=True))
        self._steps(program, pool, device, recorder)
        return [pool[each] for each in chosen.outputs]

    def _control(
        self, step: ControlStep, values: list[Tensor], device: Device, recorder: Recorder | None
    ) -> list[Tensor]:
        if not step.is_loop:
            index = int(ttnn.to_numpy(values[0]))
            last = len(step.programs) - 1
            chosen = step.programs[index if 0 <= index <= last else last]
            return self._called(chosen, values[1:], device, recorder)
        condition, body = step.programs
        count = len(step.outputs)
        while ttnn.to_numpy(self._called(condition, values, device, recorder)[0]):
            values = [*self._called(body, values, device, recorder), *values[count:]]
        return values[:count]

    def _steps(
        self, program: int, pool: dict[int, Tensor], device: Device, recorder: Recorder | None
    ) -> None:
        chosen = self.programs[program]
        for position, step in enumerate(chosen.steps):
            if isinstance(step, Step):
                described = chosen.tensors[step.output]
                pool[step.output] = _call(step, pool, described, device)
            elif isinstance(step, FreeStep):
                del pool[step.tensor]
            elif isinstance(step, GenericStep):
                tensors = [pool[each] for each in step.tensors]
                self._launch(self._kernels[program, position], tensors, recorder)
            elif isinstance(step, ControlStep):
                values = [pool[each] for each in step.inputs]
                found = self._control(step, values, device, recorder)
                pool.update(zip(step.outputs, found, strict=True))

    def _launch(
        self,
        operations: list[CompiledOperation],
        tensors: list[Tensor],
        recorder: Recorder | None,
    ) -> None:
        from ttl.driver import PROCESS_DRIVER
        from ttl.host import launch

        storages: list[Any] = [tensor.storage for tensor in tensors]
        for operation in operations:
            own = storages[: len(operation.operands)]  # scratch memory is the executor's
            with PROCESS_DRIVER.remarks.of_a_run(Config.current()) as report:
                launch(operation, own, cache_dir=self._cache_dir, recorder=recorder, report=report)


# Loading ------------------------------------------------------------------------------------------

Kernels = dict[tuple[int, int], list[CompiledOperation]]


def _load(binary: bytes, memory_bytes: int) -> tuple[list[Program], Kernels, Target]:
    value = read_binary(binary)
    _check_version(value["version"])
    if not value["programs"]:
        raise Malformed("it has no program")
    target = target_of(value["programs"])
    cores = Grid(*target.default_grid)
    programs = [read_program(each, cores, memory_bytes) for each in value["programs"]]
    check_calls(programs)
    kernels = {
        (number, position): compiled_operations(step, program.described(step.tensors), target)
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


def _wrong(message: str) -> UsageError:
    helps = ("write the file again, with tt_torch.export(...).save(FILE) or ttl opt --flatbuffer",)
    return UsageError(RuleBroken(codes.NOT_A_FLATBUFFER, message, helps=helps).at(None))


# Tensors ------------------------------------------------------------------------------------------


def _inputs(program: Program, given: Sequence[Any], device: Device) -> dict[int, Tensor]:
    wanted = program.described(program.inputs)
    if len(given) != len(wanted):
        raise _wrong_input(f"`{program.name}` has {len(wanted)} inputs, not {len(given)}")
    pool = {}
    for position, (number, described) in enumerate(zip(program.inputs, wanted, strict=True)):
        value = given[position]
        value = value if hasattr(value, "shape") else np.asarray(value)
        name = f"input {position} of `{program.name}`"
        if tuple(value.shape) != described.shape:
            raise _wrong_input(f"{name} has shape {tuple(value.shape)}, not {described.shape}")
        pool[number] = _tensor(value, described, device, name)
    return pool


def _tensor(value: Any, described: TensorDescription, device: Device, name: str = "") -> Tensor:
    is_torch = type(value).__module__.partition(".")[0] == "torch"
    make = ttnn.from_torch if is_torch else ttnn.from_numpy
    if not described.dtype.is_float:
        _check_range(value, described, name)
    tensor: Tensor = make(
        value,
        dtype=described.dtype,
        layout=described.layout,
        device=device,
        memory_config=described.memory_config,
    )
    return tensor


def _check_range(value: Any, described: TensorDescription, name: str) -> None:
    """64 bits became 32 when the graph was lowered: what does not fit must not wrap around, and
    what is no whole number must not become one.
    """
    values = np.asarray(value)
    limits = np.iinfo(described.dtype.spelling)
    if values.dtype.kind not in "biuf":  # no numbers, which is reported where they are taken over
        return
    if values.dtype.kind == "f" and not np.array_equal(values, np.trunc(values)):
        raise _wrong_input(f"{name} has numbers that are not whole, and {described.dtype} is")
    if values.size and (values.min() < limits.min or values.max() > limits.max):
        raise _wrong_input(f"{name} has numbers that {described.dtype.spelling} cannot hold")


def _wrong_input(message: str) -> UsageError:
    return UsageError(RuleBroken(codes.WRONG_ARGUMENT, message).at(None))


# Calls --------------------------------------------------------------------------------------------


def _call(step: Step, pool: dict[int, Tensor], out: TensorDescription, device: Device) -> Tensor:
    inputs = [pool[each] for each in step.inputs]
    result = _function(step, out, device)(*inputs)
    if result.dtype is not out.dtype:
        result = ttnn.typecast(result, out.dtype)
    if result.layout is not out.layout or result.memory_config() != out.memory_config:
        result = ttnn.to_layout(result, out.layout, memory_config=out.memory_config)
    return result


def _function(step: Step, out: TensorDescription, device: Device) -> Callable[..., Tensor]:
    """What computes the step from its tensors."""
    name, attributes = step.operation, step.attributes
    config = out.memory_config
    place: dict[str, Any] = {"layout": out.layout, "device": device, "memory_config": config}
    if name in REDUCTIONS:
        dims = list(attributes["dim_arg"])
        reduce = unrestricted(getattr(ttnn, name))
        return partial(reduce, dim=dims, keepdim=attributes["keep_dim"], dtype=out.dtype)
    forms: dict[str, Callable[..., Tensor]] = {
        "reshape": lambda x: ttnn.reshape(x, out.shape),
        "expand": lambda x: ttnn.expand(x, out.shape),
        "permute": lambda x: ttnn.permute(x, tuple(attributes["permutation"])),
        "concat": lambda *parts: ttnn.concat(list(parts), dim=attributes["dim"]),
        "slice": lambda x: ttnn.slice(
            x, *(tuple(attributes[key]) for key in ("begins", "ends", "step"))
        ),
        "typecast": lambda x: ttnn.typecast(x, out.dtype),
        "bitcast": lambda x: ttnn.bitcast(x, out.dtype),
        "assign": lambda x: ttnn.clone(x),
        "to_layout": lambda x: ttnn.to_layout(x, out.layout, memory_config=config),
        "full": lambda: ttnn.full(out.shape, attributes["fill_value"], out.dtype, **place),
        "empty": lambda: ttnn.empty(out.shape, out.dtype, **place),
        "arange": lambda: _tensor(
            np.broadcast_to(np.indices(out.shape, sparse=True)[attributes["dim"]], out.shape),
            out,
            device,
        ),
        "constant": lambda: _tensor(
            np.frombuffer(step.data, out.dtype.storage).reshape(out.shape), out, device
        ),
    }
    if name in ALONG:
        return partial(_along, name, attributes, out)
    if name in ("conv2d", "conv_transpose2d"):
        return partial(_convolution, name, attributes, out, device)
    return forms.get(name) or partial(unrestricted(getattr(ttnn, name)), dtype=out.dtype)


def _along(
    name: str, attributes: Mapping[str, Any], out: TensorDescription, *inputs: Tensor
) -> Tensor:
    found = ALONG[name](*(each.storage.logical for each in inputs), **attributes)
    place: dict[str, Any] = {"device": inputs[0].device(), "memory_config": out.memory_config}
    return ttnn.from_numpy(found, dtype=out.dtype, layout=out.layout, **place)


def _convolution(
    name: str,
    attributes: Mapping[str, Any],
    out: TensorDescription,
    device: Device,
    image: Tensor,
    weight: Tensor,
) -> Tensor:
    """The real call gives all pixels of all images as rows of one matrix."""
    batch, height, width, channels = image.shape
    found = getattr(ttnn, name)(
        input_tensor=image,
        weight_tensor=weight,
        device=device,
        in_channels=channels,
        out_channels=out.shape[-1],
        batch_size=batch,
        input_height=height,
        input_width=width,
        kernel_size=tuple(weight.shape)[2:],
        dtype=out.dtype,
        memory_config=out.memory_config,
        **attributes,
    )
    return ttnn.reshape(found, out.shape)
