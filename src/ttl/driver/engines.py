"""What calls need beside the simulator is imported when the first of them is made."""

from __future__ import annotations

import threading
from functools import cache
from importlib import import_module

from ttl.config import Config
from ttl.diagnostics import TTLError
from ttl.loading.forks import LOADING

COMPILING = (
    "ttl.dialects.verification", "ttl.driver.artifacts", "ttl.driver.check", "ttl.driver.ready",
    "ttl.passes.verify.block_states",
)  # fmt: skip
SIMULATING = ("ttl.sim", "ttl.source.unified")
# What only some programs need. Where there are several threads it is loaded before it is needed:
# one of them may fork, and forks wait for what is loaded here.
SIMULATING_SOME = ("ttl.source.last_use", "ttl.source.unified.unify", "ttl.source.unified.listing",
                   "ttl.source.unified.kernel_text", "ttl.source.unified.expanding")  # fmt: skip
COMPILING_SOME = (
    "ttl.passes.node_to_node.node_calls", "ttl.passes.node_to_node.pipe_calls",
    "ttl.passes.verify.exact_states",
)  # fmt: skip


def load_engines(with_compiler: bool = True) -> None:
    """Import what calls with the present options use, before the first of them."""
    try:
        config = Config.current()
    except TTLError:  # the first call reports it
        return
    load_for(config, with_compiler)


def load_for(config: Config, with_compiler: bool = True) -> None:
    """Import what calls with these options use. Forks wait meanwhile."""
    if with_compiler and (config.wants_artifact or config.check):
        _load_compiler()
        _load_if_threads(*COMPILING_SOME)
    if with_compiler and config.backend == "host":
        _load("ttl.driver.cache", "ttl.host")
    if config.backend == "sim" and not config.compile_only:
        _load(*SIMULATING)
    _load_if_threads(*SIMULATING_SOME)


def _load_if_threads(*modules: str) -> None:
    if sum(not each.name.startswith("ttl") for each in threading.enumerate()) > 1:
        _load(*modules)


@cache
def _load(*modules: str) -> None:
    with LOADING:
        for name in modules:
            import_module(name)


@cache
def _load_compiler() -> None:
    with LOADING:
        from .compile import load_compiler

        load_compiler()
    _load(*COMPILING)
