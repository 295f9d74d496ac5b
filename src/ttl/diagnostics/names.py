"""Messages about unknown names, with the nearest known ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import FunctionType

from . import catalogue as codes
from .diagnostic import RuleBroken
from .errors import UsageError
from .frames import calling_span
from .later_names import later_name

BUILTINS = ["abs", "enumerate", "float", "int", "len", "max", "min", "print", "range", "sum", "zip"]


# Names in Triton, Pallas, CUDA, numpy and torch -> what to write here.
OTHER_LANGUAGES = {
    "program_id": "write ttl.node(dims=1), or column, row = ttl.node(dims=2)",
    "num_programs": "write ttl.grid_size(dims=1), or columns, rows = ttl.grid_size(dims=2)",
    "thread_id": "write ttl.node(): a kernel works on whole blocks, not on elements",
    "sum": "write ttl.math.reduce_sum(x, dims=[-1])",
    "mean": "write ttl.math.reduce_mean(x, dims=[-1])",
    "amax": "write ttl.math.reduce_max(x, dims=[-1])",
    "amin": "write ttl.math.reduce_min(x, dims=[-1])",
    "maximum": "write ttl.math.max(a, b), or ttl.math.reduce_max(x, dims=[-1]) along a dimension",
    "minimum": "write ttl.math.min(a, b), or ttl.math.reduce_min(x, dims=[-1]) along a dimension",
    "dot": "write a @ b",
    "mm": "write a @ b",
    "einsum": "write a @ b, with ttl.math.transpose(x) where it is needed",
    "load": "write ttl.copy(tensor[row, column], block).wait() in a data movement kernel",
    "store": "write block.store(expression) in the compute kernel, and ttl.copy(block, tensor[row, "
    "column]) in a data movement kernel",
    "async_copy": "write ttl.copy(source, destination), and wait() for what it returns",
    "reshape": "there is none: a block has the shape of its dataflow buffer; "
    "ttl.math.squeeze() and ttl.math.unsqueeze() drop and add dimensions of size 1",
    "view": "there is none: a block has the shape of its dataflow buffer",
    "permute": "write ttl.math.transpose(x) for rows and columns; copies decide the order of tiles",
    "zeros": "write ttl.math.fill(0, shape=(2, 2)); for a tensor ttnn.zeros()",
    "zeros_like": "write ttl.math.fill(0); for a tensor ttnn.zeros_like()",
    "full": "write ttl.math.fill(value, shape=(2, 2))",
    "arange": "there is none: copy it from a tensor",
    "cast": "write ttl.math.typecast(x, dtype)",
    "astype": "write ttl.math.typecast(x, dtype)",
    "to": "write ttl.math.typecast(x, dtype)",
    "reciprocal": "write ttl.math.recip(x)",
    "inv": "write ttl.math.recip(x)",
    "atan2": "there is none; where x > 0 write ttl.math.atan(y / x)",
    "arctan2": "there is none; where x > 0 write ttl.math.atan(y / x)",
    "arctan": "write ttl.math.atan(x)",
    "arcsin": "write ttl.math.asin(x)",
    "arccos": "write ttl.math.acos(x)",
    "arctanh": "write ttl.math.atanh(x)",
    "arcsinh": "write ttl.math.asinh(x)",
    "arccosh": "write ttl.math.acosh(x)",
    "log2": "write ttl.math.log(x) * 1.4426950408889634",
    "log10": "write ttl.math.log(x) * 0.4342944819032518",
    "exp10": "write ttl.math.exp(x * 2.302585092994046)",
    "erfc": "write 1 - ttl.math.erf(x)",
    "clip": "write ttl.math.clamp(x, 0, 6), with your bounds",
    "relu6": "write ttl.math.clamp(x, 0, 6)",
    "fabs": "write ttl.math.abs(x)",
    "absolute": "write ttl.math.abs(x)",
    "negative": "write -x",
    "sgn": "write ttl.math.sign(x)",
    "add": "write a + b",
    "subtract": "write a - b",
    "multiply": "write a * b",
    "divide": "write a / b",
    "power": "write x ** 2, or ttl.math.pow(x, 2)",
    "mod": "write a % b",
    "fmod": "there is none; a % b has the sign of b",
    "remainder": "write a % b",
    "fma": "write a * b + c",
    "lerp": "write a + (b - a) * weight",
    "select": "write ttl.math.where(c, a, b)",
    "isnan": "write ttl.math.ne(x, x)",
    "isinf": 'write ttl.math.eq(ttl.math.abs(x), float("inf"))',
    "argmax": "there is none: ttl.math.reduce_max(x, dims=[-1]) is the largest, without its place",
    "argmin": "there is none: ttl.math.reduce_min(x, dims=[-1]) is the smallest, without its place",
    "prod": "there is none: write the factors with *",
    "cumsum": "there is none: add blocks up in a loop",
    "sort": "there is none",
    "sinc": "there is none; where x is not 0 write ttl.math.sin(x) / x",
    "glu": "write a * ttl.math.sigmoid(b)",
    "hardswish": "write x * ttl.math.hardsigmoid(x)",
    "log_sigmoid": "write ttl.math.log(ttl.math.sigmoid(x))",
    "softmax": "write it out: e = ttl.math.exp(x - ttl.math.broadcast(ttl.math.reduce_max(x, "
    "dims=[-1]), dims=[-1])), divided by its sum",
    "syncthreads": "there is none: kernels wait for blocks of dataflow buffers, nodes for pipes "
    "and semaphores",
    "barrier": "write a ttl.Semaphore() that every node increments: examples/barrier.py",
    "cdiv": "write -(-a // b)",
    "constexpr": "write a plain Python value: what the operation's body computes is constant",
    "jit": "write @ttl.operation(grid=(columns, rows))",
    "pallas_call": "write @ttl.operation(grid=(columns, rows))",
    "BlockSpec": "write ttl.make_dataflow_buffer_like(tensor, shape=(rows, columns))",
    "tile": "write ttl.make_dataflow_buffer_like(tensor, shape=(rows, columns)), in tiles",
}


class UnknownNameError(UsageError, AttributeError):
    """An AttributeError too, so that hasattr() and getattr() with a default work."""


def unknown_name(
    owner: str,
    name: str,
    names: Iterable[str],
    also: Iterable[str] = (),
    instead: Mapping[str, str] | None = None,
) -> UnknownNameError:
    """Make the error of a `__getattr__`.

    It has no help for names with an underscore, which Python and tools look up.
    """
    if name.startswith("_"):
        return UnknownNameError(RuleBroken(codes.UNKNOWN_NAME, f"{owner} has no `{name}`").at(None))
    return UnknownNameError(no_such_name(owner, name, names, also, instead).at(calling_span()))


def no_such_name(
    owner: str,
    name: str,
    names: Iterable[str],
    also: Iterable[str] = (),
    instead: Mapping[str, str] | None = None,
) -> RuleBroken:
    """Describe an unknown name, with what to write or else the known names.

    `also` are existing names that the message does not list; `instead` maps former names to helps.
    """
    names = sorted(names)
    written = (instead or {}).get(name)
    if written is None and owner.startswith(("ttl", "a block", "a dataflow buffer")):
        written = later_name(name) or OTHER_LANGUAGES.get(name)
    message = f"{owner} has no `{name}`"
    if written is not None:
        return codes.UNKNOWN_NAME.broken(message, written)
    near = near_names(name, sorted({*names, *also}))
    helps = (f"did you mean {' or '.join(near)}?",) if near else ()
    notes = (f"it has: {', '.join(names)}",) if names else ()
    return codes.UNKNOWN_NAME.broken(message, *helps, notes=notes)


def undefined_name(name: str, function: FunctionType | None, around: Iterable[str]) -> RuleBroken:
    """Describe an undefined name in a kernel; `around` are names it could mean."""
    seen = () if function is None else (*function.__code__.co_freevars, *function.__globals__)
    names = {each for each in (*around, *seen) if not each.startswith("__")}
    near = near_names(name, sorted(names - {name})) or near_names(name, BUILTINS)
    return codes.UNKNOWN_NAME.broken(
        f"`{name}` is not defined in this kernel",
        f"did you mean {' or '.join(near)}?"
        if near
        else "define it in the kernel or in the operation around it, or pass it as an argument",
    )


def near_names(name: str, names: Iterable[str]) -> list[str]:
    from difflib import get_close_matches  # takes a few milliseconds to import

    return [f"`{found}`" for found in get_close_matches(name, list(names))]
