"""Compile, run, and the choice between them.

Loaded at the first call of a process, which mostly is one on the simulator: what other calls need
is imported where it is used.
"""

from ttl.config import Config
from ttl.diagnostics import TTLError

from .launch import Driver

PROCESS_DRIVER = Driver()
launch = PROCESS_DRIVER.launch


def load_engines(with_compiler: bool = True) -> None:
    """Import what calls with the present options use, before the first of them."""
    try:
        config = Config.current()
    except TTLError:  # the first call reports it
        return
    if with_compiler and (config.wants_artifact or config.check):
        from . import artifacts as artifacts
        from .compile import load_compiler

        load_compiler()
    if with_compiler and config.backend == "host":
        import ttl.host as host  # noqa: F401
    if config.backend == "sim" and not config.compile_only:
        import ttl.sim as sim  # noqa: F401
        import ttl.source.unified as unified  # noqa: F401


__all__ = ["PROCESS_DRIVER", "Driver", "launch", "load_engines"]
