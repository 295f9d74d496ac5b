"""Programs that call one operation several times while something that its body reads changes.

Each call has the results of what the body reads then: `value()` reads it too, right before. What a
compiler does not evaluate it refuses; what it compiles is what the simulator runs.
"""

from __future__ import annotations

import io
import linecache
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

import numpy as np
import torch

from fuzz.judging import Verdict
from ttl.config import process_variables
from ttl.diagnostics import TTLError
from ttl.driver import Driver
from ttl.language.engine import LAUNCH_HOOK

NUMBERS = count()
MOST = 3  # the largest value


@dataclass(frozen=True)
class Source:
    """Where a body gets a number from 0 to MOST: what is defined, how `n` gets there, the read."""

    setup: str
    change: str
    read: str


FUNCTION = "def function(k=0, *, named=0):\n    return k + named"
OBJECT = "class Class:\n    value = 0\n\nthing = Class()"
# The names of what is defined differ from those of the programs.
SOURCES = {
    "global": Source("NUMBER = 0", "globals()['NUMBER'] = n", "NUMBER"),
    "float": Source("NUMBER = 0.0", "globals()['NUMBER'] = float(n)", "NUMBER"),
    "tuple": Source("ITEMS = (0,)", "globals()['ITEMS'] = (5, (n,))", "ITEMS[1][0]"),
    "cell": Source(
        "def scope():\n    k = 0\n    def put(n):\n        nonlocal k\n        k = n\n"
        "    return put, lambda: k\n\nput, got = scope()",
        "put(n)",
        "got()",
    ),
    "list": Source("ITEMS = [0]", "ITEMS[0] = n", "ITEMS[0]"),
    "length": Source("ITEMS = []", "ITEMS[:] = [7] * n", "len(ITEMS)"),
    "list in a tuple": Source("ITEMS = ([0],)", "ITEMS[0][0] = n", "ITEMS[0][0]"),
    "dict": Source("ITEMS = {}", "ITEMS['k'] = n", "ITEMS['k']"),
    "set": Source(
        "ITEMS = set()", "ITEMS.clear(); ITEMS.update(range(n))", "sum(1 for _ in ITEMS)"
    ),
    "attribute": Source(OBJECT, "thing.value = n", "thing.value"),
    "class attribute": Source(OBJECT, "Class.value = n", "thing.value"),
    "of the class": Source(OBJECT, "Class.value = n", "Class.value"),
    "replaced class": Source(
        OBJECT, "thing.__class__ = type('Other', (Class,), {'value': n})", "thing.value"
    ),
    "property": Source(
        "NUMBER = 0\nclass Class:\n    @property\n    def value(self):\n        return NUMBER\n\n"
        "thing = Class()",
        "globals()['NUMBER'] = n",
        "thing.value",
    ),
    "property of the environment": Source(
        "class Class:\n    @property\n    def value(self):\n"
        "        return int(os.environ['WARM'])\n\nthing = Class()",
        "os.environ['WARM'] = str(n)",
        "thing.value",
    ),
    "getattr": Source(
        "class Class:\n    def __getattr__(self, name):\n        return len(ITEMS)\n"
        "\nITEMS, thing = [], Class()",
        "ITEMS[:] = [7] * n",
        "thing.value",
    ),
    "int class": Source(
        "class Int(int):\n    value = 0\n\nthing = Int(3)", "thing.value = n", "thing.value"
    ),
    "module": Source("module = types.ModuleType('module')", "module.value = n", "module.value"),
    "math": Source("", "math.warm_number = n", "math.warm_number"),
    "ttnn": Source("", "ttnn.warm_number = n", "ttnn.warm_number"),
    "default": Source(FUNCTION, "function.__defaults__ = (n,)", "function()"),
    "named default": Source(FUNCTION, "function.__kwdefaults__['named'] = n", "function()"),
    "list default": Source(
        "def function(ks=[0]):\n    return ks[0]", "function.__defaults__[0][0] = n", "function()"
    ),
    "function attribute": Source(FUNCTION, "function.value = n", "function.value"),
    "code": Source(
        FUNCTION,
        "function.__code__ = eval(f'lambda k, named=0: {n}').__code__\n"
        "    function.__kwdefaults__ = None",
        "function(0)",
    ),
    "replaced function": Source(
        FUNCTION, "globals()['function'] = [zero, one, two, three][n]", "function()"
    ),
    "partial": Source(FUNCTION, "globals()['bound'] = functools.partial(function, n)", "bound()"),
    "partial of a list": Source(
        "ITEMS = [0]\nbound = functools.partial(max, ITEMS)", "ITEMS[0] = n", "bound()"
    ),
    "method": Source(
        OBJECT + "\nClass.method = lambda self: self.value", "thing.value = n", "thing.method()"
    ),
    "shadowed builtin": Source("", "globals()['len'] = [zero, one, two, three][n]", "len(())"),
    "builtin": Source("", "builtins.warm_number = n", "warm_number"),
    "cached": Source(
        "NUMBER = 0\n@functools.cache\ndef function():\n    return NUMBER",
        "globals()['NUMBER'] = n\n    function.cache_clear()",
        "function()",
    ),
    "environment": Source("", "os.environ['WARM'] = str(n)", "int(os.environ['WARM'])"),
    "getenv": Source("from os import getenv", "os.environ['WARM'] = str(n)", "int(getenv('WARM'))"),
    "errors": Source(
        "",
        "np.seterr(over=('ignore', 'warn', 'raise', 'print')[n])",
        "('ignore', 'warn', 'raise', 'print').index(np.geterr()['over'])",
    ),
    "gradients": Source(
        "", "torch.set_grad_enabled(n > 1)", "(1 if torch.is_grad_enabled() else 2)"
    ),
    "threads": Source(
        "", "sys.setswitchinterval((n + 1) / 100)", "round(sys.getswitchinterval() * 100) - 1"
    ),
    "random": Source("", "random.seed(n)", "random.randrange(4)"),
    "randrange": Source("from random import randrange", "random.seed(n)", "randrange(4)"),
    "numpy random": Source("", "np.random.seed(n)", "int(np.random.randint(0, 4))"),
    "torch random": Source("", "torch.manual_seed(n)", "int(torch.randperm(4)[0])"),
    "iterator": Source(
        "ITEMS = iter(())", "globals()['ITEMS'] = itertools.count(n)", "next(ITEMS)"
    ),
    "numpy scalar": Source(
        "NUMBER = np.int32(0)", "globals()['NUMBER'] = np.int32(n)", "int(NUMBER)"
    ),
    "array": Source("ARRAY = np.zeros(2, np.int32)", "ARRAY[1] = n", "int(ARRAY[1])"),
    "context variable": Source(
        "import contextvars\nVARIABLE = contextvars.ContextVar('warm')",
        "VARIABLE.set(n)",
        "VARIABLE.get()",
    ),
    "thread": Source(
        "import threading\nLOCAL = threading.local()", "LOCAL.value = n", "LOCAL.value"
    ),
    "frozen": Source(
        "@dataclasses.dataclass(frozen=True)\nclass Class:\n    value: int\n\nthing = Class(0)",
        "globals()['thing'] = Class(n)",
        "thing.value",
    ),
    "bytes": Source("ITEMS = bytearray(1)", "ITEMS[0] = n", "ITEMS[0]"),
    "enum": Source(
        "class Choice(enum.Enum):\n    A = 0\n    B = 1\n    C = 2\n    D = 3\n\nCHOICE = Choice.A",
        "globals()['CHOICE'] = list(Choice)[n]",
        "CHOICE.value",
    ),
    "globals": Source("NUMBER = 0", "globals()['NUMBER'] = n", "globals()['NUMBER']"),
    "text": Source("NUMBER = 0", "globals()['NUMBER'] = n", "int(f'{NUMBER}')"),
    "evaluated": Source("NUMBER = 0", "globals()['NUMBER'] = n", "eval('NUMBER')"),
    "imported": Source(
        "",
        "sys.modules['warm_module'] = types.SimpleNamespace(value=n)",
        "__import__('warm_module').value",
    ),
    "tensor": Source("", "DATA[:] = [n]", "int(ttl.to_numpy(tensor)[0, 0])"),
    "node": Source("ITEMS = [0]", "ITEMS[0] = n", "ITEMS[NODE]"),
}

# Statements of the body, and what the kernel adds.
PLACES = {
    "body": ("k = {read}", "k"),
    "branch": ("k = 1 if {read} > 1 else 2", "k"),
    "helper": ("k = value()", "k"),
    "called in a helper": ("k = (lambda: value())()", "k"),
    "loop": ("k = 0\n    for each in range({read}):\n        k += each", "k"),
    "kernel": ("pass", "{read}"),
}
# Kernels run with numpy's errors ignored, whatever the program chose; no loop has 2.0 trips.
NOT_PAIRED = [("errors", "kernel"), ("float", "loop")]
PAIRS = [
    (source, place) for source in SOURCES for place in PLACES if (source, place) not in NOT_PAIRED
]
VALUES = {"branch": "1 if ({read}) > 1 else 2", "loop": "sum(range({read}))"}

PROGRAM = '''\
import builtins
import dataclasses
import enum
import functools
import itertools
import math
import os
import random
import sys
import types

import numpy as np
import torch
import ttnn

import ttl

VALUES = {values}
DATA = [0]
zero, one, two, three = lambda *_: 0, lambda *_: 1, lambda *_: 2, lambda *_: 3
{setup}


def change(n):
    {change}


def value():
    return {read}


def expected():
    return {expected}


@ttl.operation(grid=(1, 1))
def operation(x, y):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))
    {statement}

    @ttl.compute()
    def compute():
        with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
            y_blk.store(x_blk + {added})

    @ttl.datamovement()
    def read():
        with x_dfb.reserve() as x_blk:
            ttl.copy(x[0, 0], x_blk).wait()

    @ttl.datamovement()
    def write():
        for _ in range({trips}):
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, 0]).wait()


device = ttnn.open_device(device_id=0)
options = {{"dtype": ttnn.float32, "layout": ttnn.TILE_LAYOUT, "device": device}}
tensor = ttnn.full((32, 32), 0, **options)


def call(n):
    """What is found, and what is expected."""
    global tensor
    change(n)
    tensor = ttnn.full((32, 32), DATA[0], **options)
    wanted = DATA[0] + expected()
    change(n)
    y = ttnn.full((32, 32), 0, **options)
    operation(tensor, y)
    return float(ttl.to_numpy(y)[0, 0]), wanted
'''


def program(source: str, place: str, values: list[int]) -> str:
    each = SOURCES[source]
    statement, added = PLACES[place]
    read = each.read.replace("NODE", "ttl.node(dims=1)" if place == "body" else "0")
    expected = VALUES.get(place, "{read}").format(read=each.read.replace("NODE", "0"))
    trips = "k" if place == "branch" else "1"
    return PROGRAM.format(
        values=values,
        setup=each.setup,
        change=each.change,
        read=each.read.replace("NODE", "0"),
        expected=expected,
        statement=statement.format(read=read),
        added=added.format(read=read),
        trips=trips,
    )


def warm_program(seed: int) -> str:
    random = Random(seed)
    values = [random.randint(0, MOST) for _ in range(random.choice((2, 3, 4)))]
    source, place = random.choice(sorted(PAIRS))
    return program(source, place, values)


@contextmanager
def _restored() -> Iterator[None]:
    """What the programs change in a process."""
    errors, interval, gradients = np.geterr(), sys.getswitchinterval(), torch.is_grad_enabled()
    environment = dict(os.environ)
    try:
        yield
    finally:
        np.seterr(**errors)
        sys.setswitchinterval(interval)
        torch.set_grad_enabled(gradients)
        os.environ.clear()
        os.environ.update(environment)


@contextmanager
def _loaded(text: str) -> Iterator[tuple[dict[str, Any], Driver]]:
    """A program, whose operation has a driver of its own."""
    name = f"<warm {next(NUMBERS)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    before, driver = LAUNCH_HOOK.launch, Driver()
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        exec(compile(text, name, "exec"), names)
        LAUNCH_HOOK.launch = driver.launch
        yield names, driver
    finally:
        LAUNCH_HOOK.launch = before
        linecache.cache.pop(name, None)


def _answer(names: dict[str, Any], n: int) -> str:
    try:
        found, wanted = names["call"](n)
    except TTLError as error:
        return " ".join(["refused", *sorted({each.code.code for each in error.diagnostics})])
    return "right" if found == wanted else f"{found} for {wanted}"


def _answers(text: str, variables: dict[str, str]) -> Iterator[tuple[int, str, str, bool, bool]]:
    """Of each call: what it found, what a fresh program finds, and if checks have found errors."""
    with process_variables(variables), _loaded(text) as (names, driver):
        for n in names["VALUES"]:
            warm = _answer(names, n)
            with _loaded(text) as (other_names, other):
                fresh = _answer(other_names, n)
                fresh_errors = other.checks.errors > 0
            LAUNCH_HOOK.launch = driver.launch
            yield n, warm, fresh, driver.checks.errors > 0, fresh_errors


def check_warm(text: str) -> Verdict:
    verdict = Verdict("", "ended")
    with _restored(), redirect_stderr(io.StringIO()):
        simulated = [*_answers(text, {"TTL_BACKEND": "sim"})]
        compiled = [*_answers(text, {"TTL_BACKEND": "host"})]
        checked = [*_answers(text, {"TTL_BACKEND": "sim", "TTL_CHECK": "1"})]
    for backend, answers in (("sim", simulated), ("host", compiled)):
        for n, warm, fresh, _, _ in answers:
            verdict.ending = "refused" if warm.startswith("refused") else verdict.ending
            if warm != fresh or warm[0].isdigit():
                verdict.failure = f"{backend}: with {n} {warm}, a fresh program {fresh}"
    has_errors = False
    for n, _, _, warm_errors, fresh_errors in checked:
        has_errors |= fresh_errors
        if warm_errors != has_errors:
            verdict.failure = f"check: with {n} errors {warm_errors}, a fresh program {has_errors}"
    return verdict
