"""@ttl.autotune: what a configuration may name, and what a call with it becomes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ttl
import tuned_operations
from timed_operations import zeros
from ttl.language.autotuned import Tuned, TunedOperation
from tuned_operations import captured, double, make_double


def variant(tuned: Any, **values: Any) -> Any:
    made = tuned if isinstance(tuned, TunedOperation) else TunedOperation(tuned)
    return made.variant(ttl.Config(**values))


def test_values_of_parameters_are_passed() -> None:
    tuned = ttl.autotune([ttl.Config(block=1), ttl.Config(block=4)])(double)
    operation, more = variant(tuned, block=4)
    assert operation is double and more == {"block": 4}


def test_values_of_names_around_the_function_are_seen_by_it_alone() -> None:
    tuned = ttl.autotune(ttl.Config(BLOCK=ttl.choice(1, 4)))(captured)
    operation, more = variant(tuned, BLOCK=4)
    assert more == {} and operation.function.__globals__["BLOCK"] == 4
    assert operation.__name__ == "captured" and tuned_operations.BLOCK == 2


def test_values_of_enclosing_functions_too() -> None:
    depth = 3

    @ttl.operation(grid=(1, 1))
    def inner(x, y):
        return depth

    tuned = ttl.autotune(ttl.Config(depth=ttl.choice(1, 2)))(inner)
    assert variant(tuned, depth=2)[0].function(None, None) == 2
    assert inner.function(None, None) == 3


def test_options_of_the_operation_are_chosen_and_others_kept() -> None:
    tuned = ttl.autotune(ttl.Config(math_fidelity=ttl.choice("LoFi", "HiFi4")))(double)
    operation, _ = variant(tuned, math_fidelity="LoFi")
    assert operation.math_fidelity == "LoFi" and operation.grid == double.grid
    with pytest.raises(ttl.UsageError, match="HiFi9"):
        variant(tuned, math_fidelity="HiFi9")


def test_a_factory_makes_an_operation_for_each_configuration() -> None:
    tuned = ttl.autotune(ttl.Config(block=ttl.choice(1, 2)), key=["tiles"])(make_double)
    made = tuned(8)
    assert made.name == "make_double" and made.key_of((), {}) == {"tiles": 8}
    assert variant(made, block=2)[0].__name__ == "operation"


def test_the_key_is_what_it_names_and_without_one_all_that_is_not_tuned() -> None:
    configs = ttl.Config(block=ttl.choice(1, 2))
    named = TunedOperation(ttl.autotune(configs, key=["tiles"])(double))
    assert named.key_of(("x", "y"), {"tiles": 4}) == {"tiles": 4}
    everything = TunedOperation(ttl.autotune(configs)(double))
    assert everything.key_of(("x", "y"), {}) == {"x": "x", "y": "y", "count": 2, "tiles": 8}


def wrongly(what: str) -> Any:
    config = ttl.Config(block=ttl.choice(1, 2))
    x = zeros(32, 32)
    made: dict[str, Any] = {
        "unknown": lambda: ttl.autotune(ttl.Config(blok=1))(double),
        "option of a factory": lambda: ttl.autotune(ttl.Config(grid=(1, 1)))(make_double),
        "no parentheses": lambda: ttl.autotune(double),
        "not an operation": lambda: ttl.autotune(config)(len),
        "twice": lambda: ttl.autotune(config)(ttl.autotune(config)(double)),
        "given too": lambda: ttl.autotune(config)(double)(x, x, block=3),
        "given to a factory": lambda: ttl.autotune(config)(make_double)(8, 2),
        "factory tuned": lambda: ttl.autotune(config)(make_double).tune(x, x),
        "makes nothing": lambda: variant(ttl.autotune(ttl.Config(n=1))(lambda n: n), n=1),
        "key": lambda: ttl.autotune(config, key=["z"])(double),
        "key is tuned": lambda: ttl.autotune(config, key="block")(double),
        "order": lambda: ttl.operation(grid=(1, 1))(ttl.autotune(config)(make_double)),
        "unknown option": lambda: ttl.autotune(config, keys=["x"]),
        "arguments": lambda: ttl.autotune(config)(double)(x, x, z=3),
    }
    return made[what]()


@pytest.mark.parametrize(
    ("what", "code", "message"),
    [
        ("unknown", "TTL1030", "`blok`, which `double` does not use"),
        ("option of a factory", "TTL1030", "`grid`, which `make_double` does not use"),
        ("no parentheses", "TTL1030", "needs configurations"),
        ("not an operation", "TTL1030", "not `len`"),
        ("twice", "TTL1030", "not `double`"),
        ("given too", "TTL1030", "`block` is chosen by ttl.autotune"),
        ("given to a factory", "TTL1030", "`block` is chosen by ttl.autotune"),
        ("factory tuned", "TTL1030", "is a factory"),
        ("makes nothing", "TTL1030", "returns a int"),
        ("key", "TTL1031", "no argument of the operation `double`"),
        ("key is tuned", "TTL1031", "which the configurations choose"),
        ("order", "TTL1043", "@ttl.operation stands above @ttl.autotune"),
        ("unknown option", "TTL1004", "@ttl.autotune() has no `keys`"),
        ("arguments", "TTL1003", "unexpected keyword argument 'z'"),
    ],
)
def test_misuse_has_a_code(what: str, code: str, message: str) -> None:
    with pytest.raises(ttl.UsageError) as found:
        wrongly(what)
    first = found.value.diagnostics[0]
    assert (first.code.code, message in first.message) == (code, True), first.message
    assert first.primary is not None, "it has a place in the program"


def test_a_call_runs_the_configuration_that_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    class Chosen:
        best = ttl.Config(block=2)

    tuned: Tuned = ttl.autotune(ttl.Config(block=ttl.choice(1, 2)))(double)
    monkeypatch.setattr(ttl.LAUNCH_HOOK, "tune", lambda *call: Chosen)
    x = ttl.from_numpy(np.ones((32, 256)), dtype=zeros(32, 32).dtype, device=zeros(32, 32).device())
    y = zeros(32, 256)
    tuned(x, y)
    assert (ttl.to_numpy(y) == 2).all()


def test_what_a_call_made_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[Any] = []

    class Chosen:
        best = ttl.Config(BLOCK=4)

    tuned: Tuned = ttl.autotune(ttl.Config(BLOCK=ttl.choice(1, 4)))(captured)
    monkeypatch.setattr(ttl.LAUNCH_HOOK, "tune", lambda *call: Chosen)
    monkeypatch.setattr(ttl.LAUNCH_HOOK, "launch", lambda made, *call: launched.append(made))
    for _ in range(2):
        tuned(zeros(32, 256), zeros(32, 256))
    assert launched[0] is launched[1] and launched[0] is not captured


def test_a_tuned_operation_is_called_from_the_program_only() -> None:
    tuned = ttl.autotune(ttl.Config(block=ttl.choice(1, 2)))(double)

    @ttl.operation(grid=(1, 1))
    def outer(x, y):
        tuned(x, y)

        @ttl.datamovement()
        def read():
            pass

    with pytest.raises(ttl.UsageError, match="double is called in the body of an operation"):
        outer(zeros(32, 256), zeros(32, 256))
