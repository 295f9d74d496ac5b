"""A program of the fuzzer on an engine: what it left in its tensors, what it was refused for."""

from __future__ import annotations

import linecache
import os
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import ttl
from fuzz import numpy_ttl
from ttl import ttnn
from ttl.config import process_variables
from ttl.diagnostics import Diagnostic, InternalError, RuleBroken, Severity, TTLError, codes
from ttl.driver.check import check_operation
from ttl.language.engine import LAUNCH_HOOK
from ttl.target import load as load_target

TARGET = load_target("wormhole_b0")
PACKAGES = tuple(str(Path(ttl.__file__).parents[1] / name) for name in ("ttl", "tt_torch"))
NUMBERS = count()
# What the simulator runs, or only warns of; and the thousands that have a place in the program.
OF_COMPILING = tuple(sorted(each.code for each in codes.NOT_COMPILED))
OF_LANGUAGE = ("TTL1", "TTL2", "TTL3", "TTL4", "TTL5")

# What every program ends with: its tensors, and a call, so that the file runs by itself.
TAIL = '''

INPUTS = {inputs}
MESH = {mesh}
EXACT = {exact}


def make_tensors():
    """Shapes, formats, and numbers from low to high, divided by scale."""
    import numpy as np

    import ttnn

    device = ttnn.open_mesh_device(ttnn.MeshShape(*MESH)) if MESH else ttnn.open_device(device_id=0)
    options = {{"mesh_mapper": ttnn.ShardTensorToMesh(device, dim=0)}} if MESH else {{}}
    generator, tensors = np.random.default_rng(5), []
    for shape, dtype, low, high, scale in INPUTS:
        values = generator.integers(low, high, shape)
        values = values if scale == 1 else (values / scale).astype(np.float32)
        made = ttl.from_numpy(values, dtype=getattr(ttnn, dtype), device=device, **options)
        tensors.append(made)
    return tensors


if __name__ == "__main__":
    operation(*make_tensors())
'''
Input = tuple[tuple[int, int], str, int, int, int]


def with_tail(
    text: str, inputs: Sequence[Input], exact: bool = True, mesh: tuple[int, int] | None = None
) -> str:
    count = mesh[0] * mesh[1] if mesh else 1
    spread = [((shape[0] * count, shape[1]), *rest) for shape, *rest in inputs]
    return text.rstrip("\n") + "\n" + TAIL.format(inputs=spread, mesh=mesh, exact=exact)


@dataclass(frozen=True)
class Outcome:
    """`kind`: ended, refused (with codes), invalid (the program's own exception) or fault."""

    kind: str
    detail: str = ""
    results: tuple[np.ndarray[Any, Any], ...] = ()
    codes: tuple[str, ...] = ()
    is_compilers: bool = False  # refused by what the compiler does not do

    def __str__(self) -> str:
        return f"{self.kind} {self.detail}".strip()

    def same_as(self, other: Outcome) -> bool:
        return self.kind == other.kind and all(
            np.array_equal(one, two, equal_nan=True)
            for one, two in zip(self.results, other.results, strict=True)
        )


def run(text: str, backend: str, seed: int | None = None) -> Outcome:
    """In this process; the results are the tensors of all calls."""
    variables = {"TTL_BACKEND": backend} | ({} if seed is None else {"TTL_SEED": str(seed)})
    results: list[np.ndarray[Any, Any]] = []

    def launch(plain: Any, operation: Any, args: Any, kwargs: Any) -> None:
        plain(operation, args, kwargs)
        results.extend(_numbers(each) for each in (*args, *kwargs.values()) if _is_tensor(each))

    with process_variables(variables):
        return _judged(lambda: _execute(text, launch), results)


def check(text: str) -> tuple[Outcome, list[Diagnostic]]:
    """What is known of its first operation before a run."""
    found: list[Diagnostic] = []

    def launch(plain: Any, operation: Any, args: Any, kwargs: Any) -> None:
        args = tuple(_of_first_device(each) for each in args)
        program = operation.program(args, kwargs, TARGET.default_grid)
        found.extend(check_operation(program, TARGET))

    return _judged(lambda: _execute(text, launch), []), found


def _execute(text: str, launch: Any) -> None:
    """As a program, whose source the compiler finds as it finds a notebook's."""
    name = f"<fuzzed {next(NUMBERS)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    plain = LAUNCH_HOOK.launch
    LAUNCH_HOOK.launch = lambda *call: launch(plain, *call)
    try:
        exec(compile(text, name, "exec"), {"__name__": "__main__"})
    finally:
        LAUNCH_HOOK.launch = plain
        linecache.cache.pop(name, None)


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "storage") or hasattr(value, "mesh")


def _of_first_device(value: Any) -> Any:
    return ttnn.get_device_tensors(value)[0] if hasattr(value, "mesh") else value


def _numbers(tensor: Any) -> np.ndarray[Any, Any]:
    mesh = getattr(tensor, "mesh", None)
    composer = ttnn.ConcatMeshToTensor(mesh, dim=0) if mesh is not None else None
    values = ttl.to_numpy(tensor, composer)
    return values.astype(np.float64) if values.dtype.kind not in "iu" else values


def _judged(call: Callable[[], None], results: list[np.ndarray[Any, Any]]) -> Outcome:
    try:
        call()
    except InternalError as error:
        return Outcome("fault", f"internal error: {_last_words(error)}")
    except TTLError as error:
        return _refused(error.diagnostics)
    except (Exception, RuleBroken) as error:
        if _is_ours(error):
            return Outcome("fault", f"traceback: {type(error).__name__}: {error}")
        return Outcome("invalid", f"{type(error).__name__}: {error}")
    return Outcome("ended", results=tuple(results))


def _last_words(error: TTLError) -> str:
    notes = [note for each in error.diagnostics for note in (each.message, *each.notes)]
    return " | ".join(notes)[:300]


def _refused(diagnostics: Sequence[Diagnostic]) -> Outcome:
    errors = [each for each in diagnostics if each.severity is Severity.ERROR]
    found = tuple(each.code.code for each in errors)
    for each in errors:
        if each.code.code.startswith(OF_LANGUAGE) and each.primary is None:
            return Outcome("fault", f"{each.code.code} without a place: {each.message}")
    compilers = all(each.code.code.startswith(OF_COMPILING) for each in errors)
    return Outcome("refused", ", ".join(found), codes=found, is_compilers=compilers)


def _is_ours(error: BaseException) -> bool:
    """An exception that comes out of this package. What the user's own code raises does not."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and frames[-1].filename.startswith(tuple(p + os.sep for p in PACKAGES))


# The reference ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Expected:
    """What numpy computes, and how far an engine may be off."""

    values: np.ndarray[Any, Any]
    error: np.ndarray[Any, Any]

    def difference(self, found: np.ndarray[Any, Any]) -> str:
        """Where a result is not what it must be; empty if it is."""
        with np.errstate(invalid="ignore"):
            off = np.abs(found - self.values)
        off[np.isinf(self.error)] = 0
        if (off <= self.error).all():
            return ""
        worst = np.unravel_index(np.argmax(np.nan_to_num(off - self.error, nan=1e30)), off.shape)
        place = tuple(map(int, worst))
        return f"{found[worst]} for {self.values[worst]} +- {self.error[worst]} at {place}"


def expected(text: str) -> list[Expected] | None:
    """None where the reference has no opinion; numpy_ttl.Stuck where it waits for ever."""
    if "make_tensors" not in text:
        return None
    names: dict[str, Any] = {"__name__": "fuzzed"}
    exec(text, names)
    formats = [dtype for _, dtype, *_ in names["INPUTS"]]
    given = list(zip(map(_numbers, names["make_tensors"]()), formats, strict=True))
    devices = int(np.prod(names["MESH"] or (1,)))
    try:
        operation = numpy_ttl.loaded(text)["operation"]
        parts = [_part(operation, given, number, devices) for number in range(devices)]
    except numpy_ttl.Unknown:
        return None
    return [
        Expected(*(np.concatenate(each) for each in zip(*tensors, strict=True)))
        for tensors in zip(*parts, strict=True)
    ]


def _part(operation: Any, given: Any, number: int, devices: int) -> list[Any]:
    tensors = [
        numpy_ttl.Tensor(_singles(np.split(values, devices)[number]), dtype)
        for values, dtype in given
    ]
    operation(*tensors)
    return [(each.array.astype(np.float64), each.error) for each in tensors]


def _singles(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return values.astype(np.int64 if values.dtype.kind in "iu" else np.float32)
