"""How the simulator rounds in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttl.config import Config
from ttl.diagnostics import TTLError
from ttl.language.operation import Program
from ttl.loading.recent import Recent
from ttl.semantics.kernel_config import MATH_FIDELITIES
from ttl.semantics.rounding import LANGUAGE, TF32, Rounding, chip_rounding
from ttl.target import Target

if TYPE_CHECKING:
    from ttl.artifact import CompiledOperation

MOST_REMEMBERED = 64
BEST = MATH_FIDELITIES[-1]


class Roundings:
    """As on the chip, products are made in the phases that the compiler chooses, so it is asked."""

    def __init__(self) -> None:
        self._chips: Recent[Rounding] = Recent(MOST_REMEMBERED)

    def of(self, program: Program, target: Target, config: Config) -> Rounding:
        if config.rounding != "chip":
            return TF32 if config.rounding == "tf32" else LANGUAGE

        from .compile import compile_operation  # what most runs do not need
        from .signature import kept_for, signature_of

        def ask() -> Rounding:
            try:
                return chip_rounding(_fidelity(compile_operation(program, target, config)))
            except TTLError:  # it runs on the simulator only
                return chip_rounding(BEST)

        return kept_for(self._chips, signature_of(program, target, config), ask)


def _fidelity(compiled: CompiledOperation) -> str:
    configs = [kernel.config for kernel in compiled.kernels if kernel.config is not None]
    return configs[0].math_fidelity if configs else BEST
