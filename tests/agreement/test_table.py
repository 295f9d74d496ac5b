"""The comparison notices what it is there for, and its table can only shrink."""

from __future__ import annotations

import tomllib

import pytest

import ttl
from agreement import table
from agreement.plugin import TESTS
from agreement.verdicts import Verdict
from agreement.watching import Watched
from ttl import ttnn
from ttl.config import chosen_options
from ttl.diagnostics import TTLError
from ttl.language.engine import LAUNCH_HOOK

DEVICE = ttnn.open_device(device_id=0)


def test_rows_are_sorted_and_name_files_of_tests() -> None:
    causes = tomllib.loads(table.FILE.read_text(encoding="utf-8"))
    assert list(causes) == sorted(causes)
    for programs in causes.values():
        assert list(programs) == sorted(programs)
        assert all((TESTS / name.partition("::")[0]).is_file() for name in programs)
    names = [name for programs in causes.values() for name in programs]
    assert len(names) == len({*names})


def test_a_difference_that_has_no_row_and_a_row_without_a_difference_are_faults() -> None:
    name, said = next((name, said) for name, said in table.rows().items())
    assert table.faults(name, said) == []
    assert table.faults("another.py::test", said) != []
    assert table.faults(name, set()) != []
    assert table.faults(name, {*said, "check: nothing, sim: TTL5001"}) != []


AGREEING = (
    Verdict((), (), ()),
    Verdict((), ("TTL5001",), ("TTL5001", "TTL3006")),
    Verdict(("TTL2001", "TTL2004"), ("TTL2004",)),
)
DIFFERING = (
    Verdict((), (), ("TTL5001",)),
    Verdict((), ("TTL5001",), ("TTL5005",)),
    Verdict(("TTL2001",), ()),
    Verdict(("TTL2001",), ("TTL2004",)),
)


def test_verdicts() -> None:
    assert all(verdict.agrees for verdict in AGREEING)
    assert not any(verdict.agrees for verdict in DIFFERING)


SEEN: list[int] = []


@ttl.operation(grid=(1, 1))
def writes_around_it(a):
    @ttl.datamovement()
    def read():
        SEEN.append(1)


@ttl.operation(grid=(1, 1))
def waits_for_ever(a):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

    @ttl.datamovement()
    def read():
        with a_dfb.wait():
            pass


@pytest.mark.unwatched("it watches itself")
def test_calls_are_watched_and_end_as_they_do_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    a = ttnn.zeros((32, 32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    watched = Watched()
    monkeypatch.setattr(LAUNCH_HOOK, "launch", watched.launch)
    writes_around_it(a)
    assert watched.differences == {"check: TTL1016, sim: nothing"}
    with pytest.raises(TTLError, match="TTL5001") as caught:
        waits_for_ever(a)
    assert caught.value.diagnostics[0].primary is not None
    with chosen_options(backend="host"), pytest.raises(TTLError, match="TTL1016"):
        writes_around_it(a)
    assert watched.differences == {"check: TTL1016, sim: nothing"}
