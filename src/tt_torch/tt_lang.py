"""tt-xla's names: it looks for the resolver in tt_torch.tt_lang."""

from .custom_ops import tt_lang_op_dispatch
from .decorator import tt_lang_operation
from .registry import (
    OperationEntry,
    TTLangError,
    _clear_registry_for_tests,
    get_registered_operation,
    iter_registered_operations,
)
from .resolve import resolve_operation

__all__ = [
    "OperationEntry",
    "TTLangError",
    "_clear_registry_for_tests",
    "get_registered_operation",
    "iter_registered_operations",
    "resolve_operation",
    "tt_lang_op_dispatch",
    "tt_lang_operation",
]
