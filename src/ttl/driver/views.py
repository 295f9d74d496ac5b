"""Data of pages about a program's operations, collected while it runs."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from ttl.config import Config
from ttl.diagnostics import Diagnostic, InternalError, TTLError
from ttl.language.operation import Program
from ttl.target import Target

from .grids import check_on_chip
from .running import Runs
from .signature import CallSignature
from .traces import has_real

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ttl.studio.view.page import ShownOperation


class Views:
    """The operations that a program called, each of its kinds once."""

    def __init__(self) -> None:
        self.operations: list[ShownOperation] = []
        self.calls: list[int] = []  # by their positions
        self.found: list[Diagnostic] = []
        self._known: dict[Hashable, int] = {}
        self._runs = Runs()  # others count what they record themselves

    def see(
        self, program: Program, signature: CallSignature | None, target: Target, config: Config
    ) -> None:
        """Before a run. What is wrong is for the page; the run reports what it finds itself."""
        key: Hashable = object() if signature is None else signature
        position = self._known.get(key)
        if position is None:
            position = self._known[key] = len(self.operations)
            self.operations.append(self._look(program, target, config))
        else:
            self.operations[position].times += 1
        self.calls.append(position)

    def _look(self, program: Program, target: Target, config: Config) -> ShownOperation:
        from ttl.studio.view.page import ShownOperation
        from ttl.studio.view.stages import stage_of

        from .check import check_operation
        from .compile import compile_operation

        shown = ShownOperation(program.operation.__name__)

        def keep(name: str, module: ModuleOp) -> None:
            shown.stages.append(stage_of(name, module))

        try:
            self.found += check_operation(program, target)
            shown.compiled = compile_operation(program, target, config, self.found.append, keep)
            if not config.compile_only:
                self._record(shown, program, target, config)
        except InternalError:
            raise
        except TTLError as error:
            shown.missing = error.diagnostics[0].message
            self.found += error.diagnostics
        return shown

    def _record(
        self, shown: ShownOperation, program: Program, target: Target, config: Config
    ) -> None:
        """Its calls, for the estimate. Without a C++ compiler there is none: the page says so."""
        assert shown.compiled is not None
        if has_real(program.tensors):
            shown.missing = "tensors of a device: there is no estimate"
            return
        try:
            check_on_chip(program, target)
            self._runs.record(shown.compiled, program.tensors.values(), config)
        except InternalError:
            raise
        except TTLError as error:
            shown.missing = error.diagnostics[0].message
        else:
            shown.recording = self._runs.recorded[shown.compiled].recording
