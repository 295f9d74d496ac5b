"""Turn keys of frozen.py into texts that are equal in all processes.

rule TEXT     what is compiled is the text, and messages name its lines: code is known with its
              places and the texts of its file, unless only what it does matters
rule LIBRARY  what is known by its name alone is of Python, numpy, torch or of us, whose versions
              are known; other libraries may be another version in the next process
rule NONE     a key that has anything else is of this process only
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from types import CodeType

import numpy as np

from ttl.diagnostics import Span
from ttl.semantics.dtypes import DType
from ttl.semantics.function_source import texts_of
from ttl.semantics.layout import Layout
from ttl.source.frozen import NAMED, NoKey
from ttl.source.run_by_python import CONSTANT_MODULES

AS_WRITTEN = (
    str,
    int,
    float,
    bool,
    type(None),
    type(Ellipsis),
    type(NotImplemented),
    Span,
    DType,
    Layout,
)


def stable(key: object, places: bool = True) -> str:
    """Raise NoKey if the key means something in this process only.

    Without `places` equal code in different lines or files has the same text.
    """
    return ",".join(_parts(key, places))


def _parts(key: object, places: bool) -> Iterator[str]:
    if isinstance(key, tuple | list):
        if len(key) == 3 and key[0] == NAMED and not _is_known(key[1]):  # rule LIBRARY
            raise NoKey(f"{key[1]} may be another version in the next process")
        yield f"({len(key)}"
        for each in key:
            yield from _parts(each, places)
    elif isinstance(key, CodeType):
        yield from _of_code(key, places)
    elif isinstance(key, bytes):
        yield key.hex()
    elif isinstance(key, type):
        yield f"{key.__module__}.{key.__qualname__}"
    elif isinstance(key, frozenset | set):
        yield from sorted(stable(each, places) for each in key)
    elif isinstance(key, AS_WRITTEN):
        yield repr(key)
    else:  # rule NONE
        raise NoKey(f"a {type(key).__qualname__} may be another one in the next process")


def _is_known(module: str) -> bool:
    root = module.partition(".")[0]
    return root in CONSTANT_MODULES or root in sys.stdlib_module_names


def _of_code(code: CodeType, places: bool) -> Iterator[str]:
    if "hash" in code.co_names and code.co_filename != "<string>":  # not of a dataclass
        raise NoKey("hash() of a text is another number in the next process")
    parts = (
        code.co_name,
        code.co_code,
        code.co_consts,
        code.co_exceptiontable,
        code.co_flags,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_argcount,
        code.co_kwonlyargcount,
        code.co_posonlyargcount,
    )
    yield from _parts(parts, places)
    if places:  # rule TEXT
        yield from (code.co_filename, _of_texts(texts_of(code.co_filename)))
        yield from _parts((code.co_firstlineno, code.co_linetable), places)


@lru_cache(maxsize=256)
def _of_texts(texts: tuple[str, ...]) -> str:
    found = sha256()
    for each in texts:
        found.update(sha256(each.encode(errors="surrogatepass")).digest())
    return found.hexdigest()


def versions() -> Iterator[str]:
    """List the versions of libraries that keys name."""
    yield sys.version
    for module in (np, sys.modules.get("torch")):
        yield str(getattr(module, "__version__", None))
