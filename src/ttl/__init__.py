"""TT-Lang in Python: the public names."""

from typing import TYPE_CHECKING, Any

from ttl.diagnostics import (
    CompileError,
    InternalError,
    KernelFault,
    TTLError,
    UsageError,
    install_exception_hook,
)
from ttl.diagnostics.names import unknown_name
from ttl.language import (
    TILE_SHAPE,
    TILE_SIZE,
    Block,
    BlockExpression,
    DataflowBuffer,
    Operation,
    Transfer,
    compute,
    copy,
    datamovement,
    grid_size,
    make_dataflow_buffer_like,
    math,
    node,
    operation,
    signpost,
)
from ttl.language.engine import LAUNCH_HOOK


def _launch(operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    from ttl.driver import launch  # loaded at the first call, so that importing ttl stays light

    launch(operation, args, kwargs)


LAUNCH_HOOK.launch = _launch
install_exception_hook()

__version__ = "0.1.0"

__all__ = [
    "TILE_SHAPE",
    "TILE_SIZE",
    "Block",
    "BlockExpression",
    "CompileError",
    "DataflowBuffer",
    "InternalError",
    "KernelFault",
    "Operation",
    "TTLError",
    "Transfer",
    "UsageError",
    "compute",
    "copy",
    "datamovement",
    "grid_size",
    "make_dataflow_buffer_like",
    "math",
    "node",
    "operation",
    "signpost",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise unknown_name("ttl", name, __all__)
