"""The one context variable through which a kernel's calls find the engine that runs it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

# Holds a ttl.language.engine.Engine; tensors of ttnn, which may not know the language, ask it too.
ENGINE: ContextVar[Any] = ContextVar("ttl_engine")
