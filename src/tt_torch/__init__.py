"""TT-Lang operations in PyTorch models.

`model.to("tt")` puts a model on device `tt`, `torch.compile(model, backend="tt")` compiles it with
the kernels of its operations, and `tt_torch.export(model, args)` gives StableHLO and a flatbuffer.
"""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(
        "tt_torch needs torch, which is not installed: pip install 'pyttl[torch]'", name="torch"
    ) from None

from . import capture
from .decorator import tt_lang_operation
from .exported import Exported, export
from .registry import TTLangError
from .resolve import resolve_operation

capture.register()

__all__ = ["Exported", "TTLangError", "export", "resolve_operation", "tt_lang_operation"]
