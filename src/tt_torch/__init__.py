"""TT-Lang operations in PyTorch models.

`model.to("tt")` puts a model on device `tt`, `torch.compile(model, backend="tt")` compiles it with
the kernels of its operations, and `tt_torch.export(model, args)` gives StableHLO and a flatbuffer.
"""

from importlib import metadata as _metadata
from typing import TYPE_CHECKING
from typing import Any as _Any

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    from _pyttlang_installation import install_extra as _install_extra

    message = f"tt_torch needs torch, which is not installed: {_install_extra('torch')}"
    raise ModuleNotFoundError(message, name="torch") from None

from .decorator import tt_lang_operation
from .registry import TTLangError
from .replacing import replace
from .resolve import resolve_operation

if TYPE_CHECKING:
    from .exported import Exported, export

__all__ = [
    "Exported",
    "TTLangError",
    "export",
    "replace",
    "resolve_operation",
    "tt_lang_operation",
]


def __getattr__(name: str) -> _Any:
    """Load on first use the modules that capture models, which load slowly."""
    if name not in ("Exported", "export"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import exported

    return getattr(exported, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _register_backend() -> None:
    """Register the backend if the package is a folder on the path, without an entry point."""
    known = _metadata.entry_points(group="torch_dynamo_backends", name="tt")
    if not any(each.module == f"{__name__}.capture" for each in known):
        from . import capture

        capture.register()


_register_backend()
