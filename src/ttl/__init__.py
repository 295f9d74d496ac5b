"""TT-Lang in Python: the public names."""

import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import ttl.loading  # first: other modules define dataclasses

# isort: split
from ttl import arrays, language
from ttl.arrays import *  # noqa: F403
from ttl.diagnostics import (
    CompileError,
    InternalError,
    KernelFault,
    TTLangCompileError,
    TTLError,
    UsageError,
    hide_frames,
    install_exception_hook,
)
from ttl.diagnostics.names import unknown_name
from ttl.language import *  # noqa: F403
from ttl.language import Operation
from ttl.language.engine import LAUNCH_HOOK, Bound
from ttl.language.functions import FLAT, block_functions
from ttl.language.old_names import OLD_NAMES


@cache
def _define() -> None:
    """Load the engines when an operation is defined: most processes call it on the simulator."""
    from ttl.driver import load_engines

    load_engines(with_compiler=False)


def _launch(operation: Operation, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
    from ttl.driver import launch  # not before, so that importing ttl stays light

    if LAUNCH_HOOK.launch is _launch:  # and nobody's who looks at the calls
        LAUNCH_HOOK.launch = launch
    launch(operation, args, kwargs)


def _bind(operation: Operation, args: tuple[object, ...], kwargs: dict[str, object]) -> Bound:
    from ttl.driver import PROCESS_DRIVER

    return PROCESS_DRIVER.bind(operation, args, kwargs)


def _compile(operation: Operation, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    from ttl.driver import PROCESS_DRIVER

    return PROCESS_DRIVER.compile(operation, args, kwargs)


def _body_of(operation: Operation, arguments: dict[str, object]) -> Callable[..., object]:
    from ttl.source.unified import body_of

    return body_of(operation, arguments)


def _tune(tuned: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    from ttl.studio.tuning import tune

    return tune(tuned, args, kwargs)


# Makes `import ttl.math` and `from ttl.block import fill` work like `ttl.math` and `ttl.block`.
sys.modules["ttl.math"], sys.modules["ttl.block"] = language.math, block_functions

LAUNCH_HOOK.launch, LAUNCH_HOOK.bind, LAUNCH_HOOK.compile = _launch, _bind, _compile
LAUNCH_HOOK.body_of = _body_of
LAUNCH_HOOK.tune, LAUNCH_HOOK.define = _tune, _define
install_exception_hook()
hide_frames(__name__)

__version__ = "0.2.0"

__all__ = [
    "CompileError",
    "InternalError",
    "KernelFault",
    "TTLError",
    "TTLangCompileError",
    "UsageError",
    "block",
    "math",
]
__all__ += arrays.__all__
__all__ += language.__all__

# Other public names, not in `import *`, which would hide Python's `max` and `round`.
ttl = sys.modules[__name__]  # `from ttl import ttl`
BlockExpr = language.BlockExpression  # the specification's name

if TYPE_CHECKING:  # stubs of functions made from the op table: python tests/editor/stubs.py
    from ttl import block, math
else:
    math, block = language.math, block_functions
    globals().update(FLAT)
    globals().update({old: globals()[now.present] for old, now in OLD_NAMES.items()})

    def __getattr__(name: str) -> Any:
        raise unknown_name("ttl", name, __all__, also=FLAT)
