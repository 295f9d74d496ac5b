"""Names a trial's file by everything it depends on, equal in every process.

These are the operation with its configuration, that is, its code and everything that the code
names; the tensors; the chip and its costs; the options; pyttlang itself.
"""

from __future__ import annotations

from dataclasses import asdict

from ttl.config import Config as Options
from ttl.driver.stable import stable
from ttl.language.autotuned import OPTIONS, TunedOperation
from ttl.semantics.tensor_like import TensorLike
from ttl.semantics.ttnn_values import memory_config_of
from ttl.source.frozen import NoKey, freeze_all
from ttl.studio.sweep import digest, version_of_pyttlang
from ttl.target.costs import load_costs

from .trial import COUNTED, Trial, find_tensors


def trial_key(trial: Trial, common: list[object]) -> str:
    """Return the key; empty if the trial's dependencies are unknown or if it has no operation.

    `common` is surroundings(), which all trials of the sweep share.
    """
    try:
        operation, more = trial.tuned.variant(trial.config)
    except Exception:  # the trial fails in the same way, and fast
        return ""
    given = {**trial.kwargs, **more}
    tensors = find_tensors(trial.args, given)
    options = [getattr(operation, name) for name in OPTIONS]
    try:
        frozen = freeze_all([operation.function, options, trial.args, given], tensors)
        values = stable(frozen, places=False)
    except NoKey:
        return ""
    checks = trial.tuned.tuned.checks_results
    specs = [spec_of(tensor) for tensor in tensors]
    return digest("call", values, specs, checks, *common)


def surroundings(costs: object, now: Options) -> list[object]:
    """Return the parts of keys that all trials of a sweep share."""
    options = asdict(now)
    chosen = [repr(options[name]) for name in COUNTED]
    own = costs if costs is not None else load_costs(now.chip)
    return [version_of_pyttlang(), chosen, digest(own)]


def call_key(
    tuned: TunedOperation, args: tuple[object, ...], kwargs: dict[str, object], target: str
) -> object:
    """Return the key of a call among others of the same process."""
    named = tuned.key_of(args, kwargs)
    tensors = find_tensors(tuple(named.values()), {})
    try:
        values = stable(freeze_all(list(named.values()), tensors), places=False)
    except NoKey:
        values = repr(named)
    specs = repr([spec_of(tensor) for tensor in tensors])
    return tuple(named), values, specs, target, _code_key(tuned)


def _code_key(tuned: TunedOperation) -> str:
    """Hash the code and values it names: the program may have changed a global since."""
    try:
        return stable(freeze_all([tuned.tuned.function], []), places=False)
    except NoKey:
        return ""


def spec_of(tensor: TensorLike) -> list[str]:
    layout, memory = getattr(tensor, "layout", ""), memory_config_of(tensor)
    return [str(tuple(tensor.shape)), str(tensor.dtype), str(layout), repr(memory)]
