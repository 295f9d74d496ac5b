"""The devices of a mesh in processes: `ttl run --mesh-processes N`. docs/decisions/0035.

rule SHARED  all tensors of the call lie in memory that processes share
rule ALONE   a run leaves nothing in its process but the elements of tensors: no trace, no counts
rule FIRST   the first device runs in this process: what is compiled and remarked is so once
rule ORDER   what devices print comes in their order; of several errors the first device's is raised

Where SHARED or ALONE do not hold, or a process cannot be forked, all devices run in this one.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import partial
from io import StringIO
from typing import Any

from ttl.config import Config
from ttl.diagnostics import Diagnostic, KernelFault, TTLError, codes
from ttl.semantics.dtypes import Array
from ttl.studio.sweep import CRASHED, forked, may_fork
from ttl.ttnn.shared_memory import is_shared, release
from ttl.ttnn.tensor import Tensor

from .spmd import Call

Launch = Callable[[int], None]  # the call of one device, by its number


def may_split(config: Config, calls: Sequence[Call]) -> bool:
    return _is_alone(config) and may_fork() and all(map(_has_shared_tensors, calls))


def _is_alone(config: Config) -> bool:  # rule ALONE
    looks = (config.check, config.trace, config.counts, config.estimate, config.view)
    changes = (config.float32, config.compile_only, config.isolate, config.show_threads)
    writes = (config.initial_mlir, config.final_mlir, config.compile_to, config.kernel_dumps)
    asked = any((*looks, *changes, *writes, config.verbose_passes))
    return not asked and config.backend != "device"


def _has_shared_tensors(call: Call) -> bool:  # rule SHARED
    return all(map(is_shared, _arrays(call)))


def _arrays(call: Call) -> list[Array]:
    args, kwargs = call
    tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)]
    return [tensor.storage.elements for tensor in tensors]


def launch_split(launch: Launch, calls: Sequence[Call], at_a_time: int) -> None:
    launch(0)  # rule FIRST
    for call in calls:  # a fork has what its parent has in memory
        for array in _arrays(call):
            release(array)
    done: dict[int, dict[str, object]] = {}
    shown = 0
    with closing(forked(partial(_in_fork, launch), range(1, len(calls)), at_a_time)) as results:
        for number, result in results:
            done[number] = result
            while shown in done:  # rule ORDER
                _show(done.pop(shown))
                shown += 1


def _in_fork(launch: Launch, index: int) -> dict[str, Any]:
    output, errors = StringIO(), StringIO()
    raised = None
    with redirect_stdout(output), redirect_stderr(errors):
        try:
            launch(index)
        except BaseException as error:
            raised = _portable(error)
    return {"output": output.getvalue(), "errors": errors.getvalue(), "raised": raised}


def _show(result: dict[str, Any]) -> None:
    if CRASHED in result:
        message = f"the process of a device ended too soon: {result[CRASHED]}"
        raise KernelFault(Diagnostic(codes.EXECUTOR_FAULT, message))
    sys.stdout.write(result["output"])
    sys.stderr.write(result["errors"])
    if (raised := result["raised"]) is not None:
        raise _with_known_codes(raised) if isinstance(raised, TTLError) else raised


def _portable(error: BaseException) -> BaseException:
    """One that arrives in the other process."""
    try:
        pickle.loads(pickle.dumps(error))
        return error
    except Exception:
        if isinstance(error, TTLError):
            return type(error)(*[replace(each, facts={}) for each in error.diagnostics])
        return RuntimeError(f"{type(error).__name__}: {error}")


def _with_known_codes(error: TTLError) -> TTLError:
    """Codes are compared by identity."""
    known = [
        replace(each, code=codes.CATALOGUE[each.code.code])
        if each.code == codes.CATALOGUE[each.code.code]
        else each
        for each in error.diagnostics
    ]
    return type(error)(*known)
