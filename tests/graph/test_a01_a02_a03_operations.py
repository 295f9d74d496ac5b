"""A-1 the decorator, A-2 version tags, A-3 the registry."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from torch_models import add, add_tiles
from tt_torch import registry
from tt_torch.tt_lang import (
    OperationEntry,
    TTLangError,
    _clear_registry_for_tests,
    get_registered_operation,
    iter_registered_operations,
    tt_lang_operation,
)


@pytest.fixture(autouse=True)
def own_registry() -> Iterator[None]:
    kept = iter_registered_operations()
    _clear_registry_for_tests()
    yield
    _clear_registry_for_tests()
    for entry in kept:
        registry.register(entry)


def kernel(a, b, y):
    raise AssertionError("only captured, never called")


def decorate(roles=("in", "in", "out"), fn=kernel, **options):
    return tt_lang_operation(**{"operation_id": "k", "arg_roles": roles, **options})(fn)


# A-1 ----------------------------------------------------------------------------------------------


def test_a1_keyword_only_and_no_defaults_for_id_and_roles():
    parameters = inspect.signature(tt_lang_operation).parameters
    assert all(each.kind is each.KEYWORD_ONLY for each in parameters.values())
    required = [name for name, each in parameters.items() if each.default is each.empty]
    assert required == ["operation_id", "arg_roles"]
    with pytest.raises(TypeError):
        tt_lang_operation(operation_id="k")


@pytest.mark.parametrize("wrong", ["", None, 3, "a b", "a\tb", "a\n"])
def test_a1_operation_id(wrong):
    with pytest.raises(ValueError, match="operation_id"):
        tt_lang_operation(operation_id=wrong, arg_roles=["out"])


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (None, "required"),
        (["in", "out"], "2 roles for 3 tensors"),
        (["in", "inout", "out"], "'inout'"),
        (["in", "out", "in"], "before any"),
        (["out", "in", "in"], "before any"),
    ],
)
def test_a1_wrong_roles_are_found_at_decoration(roles, message):
    with pytest.raises(ValueError, match=message):
        decorate(roles)


def test_a1_wrapper():
    wrapped = decorate()
    assert wrapped._tt_lang_operation_entry is get_registered_operation("k")
    assert wrapped.__name__ == "kernel" and wrapped.__wrapped__ is kernel
    entry = wrapped._tt_lang_operation_entry
    assert (entry.impl, entry.arg_roles) == (kernel, ("in", "in", "out"))
    with pytest.raises(TypeError):
        wrapped(a=torch.ones(1))


def test_a1_unknown_number_of_tensors_is_checked_at_the_call():
    wrapped = decorate(["in", "out"], fn=lambda *tensors: None, version_tag="1")
    with pytest.raises(ValueError, match="2 tensors, in, out, and is called with 3"):
        wrapped(*[torch.ones(1)] * 3)


def test_a1_call_checks_come_in_order():
    wrapped = decorate(["in", "in", "in"])  # accepted until it is called
    cpu, meta = torch.ones(1), torch.ones(1, device="meta")
    with pytest.raises(TypeError, match="without tensors"):
        wrapped()
    with pytest.raises(TypeError, match=r"argument 1 .* is a int"):
        wrapped(cpu, 3)
    with pytest.raises(ValueError, match="3 tensors, in, in, in, and is called with 2"):
        wrapped(cpu, meta)
    with pytest.raises(ValueError, match="at least one 'out'"):
        wrapped(cpu, meta, cpu)
    with pytest.raises(ValueError, match="different devices"):
        decorate(operation_id="o")(cpu, meta, cpu)
    with pytest.raises(NotImplementedError, match="XLA"):
        decorate(operation_id="o")(cpu, cpu, cpu)


# A-2 ----------------------------------------------------------------------------------------------


def test_a2_tag_is_the_hash_of_the_source():
    digest = hashlib.sha1(inspect.getsource(kernel).encode()).hexdigest()[:12]
    assert decorate()._tt_lang_operation_entry.version_tag == digest
    assert decorate(version_tag="")._tt_lang_operation_entry.version_tag == digest


def test_a2_of_an_operation_its_function_is_hashed():
    source = inspect.getsource(add_tiles.function)
    digest = hashlib.sha1(source.encode()).hexdigest()[:12]
    assert add._tt_lang_operation_entry.version_tag == digest


def test_a2_explicit_tag_wins():
    assert decorate(version_tag="v7")._tt_lang_operation_entry.version_tag == "v7"


def test_a2_unreadable_source():
    names: dict = {}
    exec("def hidden(a, b, y): pass", names)
    with pytest.raises(TypeError, match="version_tag"):
        decorate(["out", "in"], fn=names["hidden"])  # before the roles are looked at
    decorate(fn=names["hidden"], version_tag="v1")


# A-3 ----------------------------------------------------------------------------------------------


def test_a3_another_version_is_refused_the_same_replaces():
    decorate(version_tag="v1")
    with pytest.raises(ValueError, match="bump operation_id"):
        decorate(version_tag="v2")

    def other(a, b, y):
        pass

    decorate(fn=other, version_tag="v1")
    assert get_registered_operation("k").impl is other


def test_a3_unknown_id():
    with pytest.raises(KeyError, match="nobody"):
        get_registered_operation("nobody")


def test_a3_iteration_is_a_snapshot_in_order():
    for name in ("b", "a", "c"):
        decorate(operation_id=name)
    snapshot = iter_registered_operations()
    decorate(operation_id="d")
    assert [entry.operation_id for entry in snapshot] == ["b", "a", "c"]


def test_a3_threads():
    def register(number):
        registry.register(OperationEntry(f"op{number % 8}", kernel, f"v{number}", ("out",)))

    def attempt(number):
        try:
            register(number)
        except ValueError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(64))) == 8  # one version of each id
    assert len(iter_registered_operations()) == 8


def test_a3_entry_and_error():
    assert issubclass(TTLangError, RuntimeError)
    entry = OperationEntry("k", kernel, "v", ("in", "out"))
    assert not hasattr(entry, "__dict__") and "operation_id='k'" in repr(entry)
