"""`import ttl`, and calls, change nothing of the process that others rely on.

What the documentation names is the only exception: the hook for exceptions that nobody catches
(docs/reference/diagnostics.md), and the finder that serves `import ttnn`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

WATCHED = """
import _frozen_importlib, _frozen_importlib_external, abc, ast, atexit, builtins, codecs
import collections, contextlib, copy, copyreg, dataclasses, enum, functools, gc, importlib
import inspect, io, json, linecache, locale, logging, math, multiprocessing, operator, os, pathlib
import pickle, re, shutil, signal, site, subprocess, sys, tempfile, threading, tokenize, traceback
import types, typing, warnings, weakref
import numpy.typing
import xdsl.irdl.attributes, xdsl.irdl.operations, xdsl.dialects.builtin, xdsl.ir.core
"""
SNAPSHOT = """
MODULES = [each for each in list(sys.modules.values()) if each is not None
           and each.__name__ != "__main__" and "ttl" not in each.__name__]

def state():
    found = {}
    for module in MODULES:
        for name, value in list(vars(module).items()):
            if isinstance(value, types.ModuleType):  # one that was loaded since
                continue
            found[module.__name__, name] = id(value)
            if isinstance(value, type) and value.__module__ == module.__name__:
                for member, held in list(vars(value).items()):
                    found[module.__name__, f"{name}.{member}"] = id(held)
    found["", "environment"] = dict(os.environ)
    found["", "gc"] = gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), len(gc.callbacks)
    found["", "warnings"] = list(warnings.filters)
    found["", "signals"] = [signal.getsignal(each) for each in signal.valid_signals()]
    found["", "path"] = list(sys.path)
    found["", "hooks"] = list(sys.path_hooks), sys.gettrace(), sys.getprofile(), sys.displayhook
    found["", "recursion"] = sys.getrecursionlimit(), sys.getswitchinterval()
    found["", "finders"] = [getattr(each, "__name__", "") for each in sys.meta_path]
    found["", "numpy"] = str(numpy.geterr()), str(numpy.get_printoptions())
    found["", "locale"] = locale.setlocale(locale.LC_ALL)
    return found

before = state()
"""
CALL = """
import ttl
from ttl import ttnn

@ttl.operation(grid=(1, 1))
def add(x, y):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.compute()
    def compute():
        with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
            y_blk.store(x_blk + 1)

    @ttl.datamovement()
    def read():
        with x_dfb.reserve() as x_blk:
            ttl.copy(x[0, 0], x_blk).wait()

    @ttl.datamovement()
    def write():
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[0, 0]).wait()

device = ttnn.open_device(device_id=0)
options = {"dtype": ttnn.float32, "layout": ttnn.TILE_LAYOUT, "device": device}
for _ in range(2):
    add(ttnn.ones((32, 32), **options), ttnn.zeros((32, 32), **options))
"""
COMPARE = """
after = state()
changed = sorted(f"{module}.{name}" for module, name in before.keys() | after.keys()
                 if before.get((module, name)) != after.get((module, name)))
changed = [each for each in changed if not each.startswith("tempfile.")]  # kept by Python itself
print(*changed, sep="\\n")
"""
ALLOWED = {"sys.excepthook"}


@pytest.mark.parametrize(
    "variables", [{}, {"TTL_BACKEND": "host"}, {"TTL_STRICT": "1"}, {"TTL_CHECK": "1"}], ids=str
)
@pytest.mark.parametrize("steps", ["import ttl", CALL], ids=["import", "calls"])
def test_what_others_rely_on_stays(tmp_path: Path, steps: str, variables: dict[str, str]) -> None:
    file = tmp_path / "program.py"
    file.write_text(WATCHED + SNAPSHOT + steps + COMPARE)
    done = subprocess.run(
        [sys.executable, "-P", str(file)],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) <= ALLOWED
