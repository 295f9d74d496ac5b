"""Bind calls, which then skip the body, and compile operations ahead of a call.

rule PROMISE  the program promises that the body would declare the same kernels again
rule ALIKE    other tensors must match the bound ones in device, shape, type, layout and memory, and
              be the same tensor in the same positions
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ttl.config import Config
from ttl.diagnostics import TTLError, UsageError, at_the_call, codes, usage_error
from ttl.diagnostics.frames import calling_span
from ttl.language.arguments import is_tensor
from ttl.language.operation import Program, refuse_inside
from ttl.semantics.current_engine import TRACE
from ttl.semantics.tensors import device_of
from ttl.target import Target, load
from ttl.ttnn.device import Device
from ttl.ttnn.tensor import Tensor
from ttl.ttnn.tensor_spec import TensorSpec

from .backend import is_real
from .backends import Runnable
from .launch import OperationCall, guarded
from .operands import operand_of
from .spmd import mesh_of

if TYPE_CHECKING:
    from ttl.artifact import CompiledOperation


def bind(call: OperationCall, args: tuple[Any, ...], kwargs: dict[str, Any]) -> BoundCall:
    name = call.operation.__name__
    _refuse_mesh(call, args, kwargs)
    for value in (*args, *kwargs.values()):
        if is_tensor(value) and is_real(value) and value.device() is None:
            raise usage_error(
                codes.UNUSABLE_TENSOR,
                f"{name} is bound to a tensor of the host, which each call would have to move",
                "move it once: tensor = ttnn.to_device(tensor, device)",
            )
    program, target, config = call.program(args, kwargs)
    with guarded(program, target, config):
        runnable = call.runnable(program, target, config)
    return BoundCall(call, program, runnable, target, config)


def compiled_for(
    call: OperationCall, args: tuple[object, ...], kwargs: dict[str, object]
) -> tuple[Program, CompiledOperation]:
    """Return the program and its artifact for tensors, or for specs of tensors."""
    _refuse_mesh(call, args, kwargs)
    device = Device(0, load(call.config.target))
    positional = tuple([_described(value, device) for value in args])
    named = {name: _described(value, device) for name, value in kwargs.items()}
    program, target, config = call.program(positional, named)
    with guarded(program, target, config):
        runnable = call.runnable(program, target, config)
    assert runnable is not None and runnable.artifact is not None, "it is no check"
    return program, runnable.artifact


def _described(value: Any, device: Device) -> Any:
    return Tensor.described(value, device) if isinstance(value, TensorSpec) else value


def _refuse_mesh(call: OperationCall, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
    if mesh_of(call.operation, args, kwargs) is not None:
        raise usage_error(
            codes.UNUSABLE_TENSOR,
            f"{call.operation.__name__} is bound to tensors that are spread over a mesh",
            "bind a call for each device: ttnn.get_device_tensors(tensor) gives their parts",
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BoundCall:
    """A call that is ready to run again."""

    call: OperationCall
    program: Program
    runnable: Runnable | None  # None in a check, which runs nothing
    target: Target
    config: Config

    @property
    def artifact(self) -> CompiledOperation | None:
        return None if self.runnable is None else self.runnable.artifact

    def __repr__(self) -> str:
        tensors = ", ".join(self.program.tensors)
        return f"<{self.program.operation.__name__} bound to {tensors}>"

    def __call__(self, *tensors: object) -> None:
        """Run on the bound tensors, or on others that replace the arguments of the call."""
        program = self.program
        refuse_inside(program.operation.__name__)
        if self.runnable is None:
            return
        try:
            chosen = self._chosen(tensors) if tensors else list(program.tensors.values())
            if (trace := TRACE.get()) is not None:
                trace.append(partial(self, *tensors))
            with guarded(program, self.target, self.config):
                self.call.run(self.runnable, program, chosen, self.config)
        except TTLError as error:
            raise at_the_call(error)  # noqa: B904 - it is the same one, with its own cause

    def _chosen(self, given: Sequence[object]) -> list[Any]:  # rule ALIKE
        """Replace the tensors among the arguments; keep those that kernels only capture."""
        program = self.program
        name, own = program.operation.__name__, program.tensors
        replaced = [each for each in own if program.arguments.get(each) is own[each]]
        if len(given) != len(replaced):
            takes = f"{len(replaced)} ({', '.join(replaced)})"
            raise _refused(f"the bound {name} takes {takes} tensors, not {len(given)}")
        chosen = own | dict(zip(replaced, given, strict=True))
        for each in replaced:
            if difference := _difference(each, own[each], chosen[each]):
                raise _refused(f"`{each}` of the bound {name} {difference}")
        for each in replaced:
            if chosen[each] is not own[each] and _is_captured_outside(program, own[each]):
                raise _refused(f"`{each}` of the bound {name} is captured by a kernel, too")
        if _aliases(own.values()) != _aliases(chosen.values()):
            raise _refused(f"the bound {name} is given one tensor in several places")
        return list(chosen.values())


def _difference(name: str, one: object, other: object) -> str:
    if one is other:
        return ""
    if not is_tensor(other):
        return f"is a tensor, not {other!r}"
    was, now = operand_of(name, one), operand_of(name, other)
    if type(one) is not type(other) or device_of(one) != device_of(other):
        return "lies on another device"
    if was == now:
        return ""
    part = next(
        each
        for each in ("shape", "dtype", "layout", "memory")
        if getattr(was, each) != getattr(now, each)
    )
    return f"has {part} {getattr(was, part)}, not {getattr(now, part)}"


def _is_captured_outside(program: Program, tensor: object) -> bool:
    """Tell whether a kernel also sees the tensor under a name from outside of the body."""
    outside = program.operation.function.__code__.co_freevars
    for kernel in program.kernels:
        free = kernel.function.__code__.co_freevars
        for name, value in kernel.find_visible().items():
            if (name in outside or name not in free) and value is tensor:
                return True
    return False


def _aliases(tensors: Iterable[object]) -> list[int]:
    """List the first position of each tensor."""
    ids = [id(each) for each in tensors]
    return [ids.index(each) for each in ids]


def _refused(message: str) -> UsageError:
    broken = codes.UNUSABLE_TENSOR.broken(message, "bind the operation to these tensors")
    return UsageError(broken.at(calling_span()))
