"""Where a call runs: real tensors on their device, others where the configuration says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ttl.config import Config
from ttl.diagnostics import RuleBroken, UsageError, codes
from ttl.diagnostics.frames import calling_span
from ttl.semantics.dtypes import DType, find_dtype

if TYPE_CHECKING:
    from ttl.device import Chip


def choose_backend(
    config: Config, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Config, Chip | None]:
    """The configuration of this call, and the chip of its tensors if they are real.

    UsageError where tensors and configuration do not go together.
    """
    tensors = [value for value in (*args, *kwargs.values()) if find_dtype(value) is not None]
    real = [tensor for tensor in tensors if is_real(tensor)]
    if problem := _problem(config, len(tensors), len(real)):
        raise UsageError(problem.at(calling_span()))
    if not real:
        return config, None
    from ttl.device import chip_of  # what runs on this machine never need

    device = next((tensor.device() for tensor in real if tensor.device() is not None), None)
    chip = None if device is None else chip_of(device)
    target = config.target if chip is None else chip.target
    return replace(config, backend="device", target=target), chip


def is_real(tensor: Any) -> bool:
    """Is it a tensor of the real ttnn, not of the embedded one?"""
    return not isinstance(tensor.dtype, DType)


def _problem(config: Config, tensors: int, real: int) -> RuleBroken | None:
    if 0 < real < tensors:
        return codes.UNUSABLE_TENSOR.broken(
            "some tensors of the call are of the real ttnn, others of the embedded one",
            "make all of them with one `import ttnn`",
        )
    if real and config.backend == "host":
        return codes.UNUSABLE_TENSOR.broken(
            "TTL_BACKEND=host runs kernels on tensors of the embedded ttnn; these are real ones",
            "unset TTL_BACKEND: real tensors are computed on their device",
        )
    if real and config.dry_run:
        return codes.WRONG_OPTION.broken(
            "TTL_DRY_RUN=1 leaves tensors as they were, which a device cannot",
            "unset TTL_DRY_RUN, or run it on the simulator",
        )
    if not real and config.backend == "device":
        from ttl.device import missing

        return missing() or codes.UNUSABLE_TENSOR.broken(
            "a run on a device needs tensors of the real ttnn; these are of the embedded one",
            "make them with `import ttnn`, not with ttl.ttnn",
        )
    return None
