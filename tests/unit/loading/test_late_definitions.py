"""What is defined late is what xDSL defines; numpy's threads wait as chosen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ttl.loading.late_dialect_files import LateFinder

# Every operation and attribute of the dialects of a compilation, as text.
DEFINITIONS = """
import sys
if sys.argv[1] == "late":
    from ttl.loading.late_definitions import delay_definitions
    delay_definitions()
from ttl.dialects import make_context
for dialect in make_context().loaded_dialects:
    for op in (each for each in dialect.operations if hasattr(each, "get_irdl_definition")):
        fields = [name for name in dir(op) if not name.startswith("_")]
        names = [(name, type(vars(op).get(name)).__name__) for name in fields]
        traits = sorted(type(trait).__name__ for trait in op.traits)
        definition = op.get_irdl_definition()
        operands = [(name, repr(each)) for name, each in definition.operands]
        names = [(name, type(vars(op).get(name)).__name__) for name in fields]
        print(op.name, traits, names, operands, sorted(definition.properties))
    for attribute in dialect.attributes:
        definition = getattr(attribute, "get_irdl_definition", lambda: None)()
        if definition is not None:
            print(attribute.name, definition.name, [n for n, _ in definition.parameters])
"""


def output(program: str, *arguments: str, **variables: str) -> str:
    command = [sys.executable, "-c", program, *arguments]
    environment = {**os.environ, **variables}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert not done.stderr
    return done.stdout


def test_late_definitions_are_those_of_xdsl() -> None:
    late = output(DEFINITIONS, "late").splitlines()
    assert len(late) > 300
    assert late == output(DEFINITIONS, "at once").splitlines()


FIRST_LOOKS = """
from ttl.loading.late_definitions import _WAITING, delay_definitions
delay_definitions()
from xdsl.dialects.arith import AddiOp, ConstantOp, MuliOp, SubiOp
from xdsl.dialects.builtin import i32
from ttl.dialects.building import create
assert {AddiOp, MuliOp, SubiOp} <= _WAITING.keys()
one = ConstantOp.from_int_and_width(1, 32).result
made = create(AddiOp, [one, one], [i32])  # asks for no definition
assert AddiOp in _WAITING and made.lhs is one and AddiOp not in _WAITING
print(create(MuliOp, [one, one], [i32]))
wrong = create(SubiOp, [one], [i32])
try:
    wrong.verify()
except Exception as error:
    print("refused")
"""


def test_a_definition_is_made_at_the_first_look() -> None:
    lines = output(FIRST_LOOKS).splitlines()
    assert lines[0].startswith("%0 = arith.muli %1, %1")
    assert lines[-1] == "refused"


FROM_THREADS = """
import sys
from threading import Barrier, Thread
from ttl.loading.late_definitions import delay_definitions
delay_definitions()
from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from ttl.dialects.building import create
sys.setswitchinterval(1e-6)
one = arith.ConstantOp.from_int_and_width(1, 32).result
kinds = [each for each in arith.Arith.operations if "lhs" in dir(each)]
barrier, wrong = Barrier(4), []

def look():
    for kind in kinds:
        barrier.wait()
        op = create(kind, [one, one], [i32])
        if op.lhs is not one or kind.get_irdl_definition() is None:
            wrong.append(kind)

threads = [Thread(target=look) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(kinds) > 20, wrong)
"""


def test_threads_that_look_at_the_same_time_find_the_same() -> None:
    assert output(FROM_THREADS).split() == ["True", "[]"]


@pytest.mark.parametrize("chosen", [None, "26"])
def test_how_threads_of_blas_wait_is_chosen_by_the_user(chosen: str | None) -> None:
    program = "import ttl, os; print(os.environ.get('OPENBLAS_THREAD_TIMEOUT'))"
    given = {} if chosen is None else {"OPENBLAS_THREAD_TIMEOUT": chosen}
    assert output(program, **given).strip() == str(chosen)


DIALECT_FILE = """
import sys
from ttl.driver.compile import load_compiler
load_compiler()
print("tempfile" in sys.modules, "xdsl.utils.dialect_loader" in sys.modules)
try:
    import no_dialect
except ModuleNotFoundError:
    print("xdsl.utils.dialect_loader" in sys.modules)
import own_dialect
print(type(own_dialect.__spec__.loader).__name__)
"""
OWN_DIALECT = """builtin.module {
  irdl.dialect @own_dialect {
    irdl.operation @own { }
  }
}
"""


def test_dialects_in_files_of_their_own_are_found_when_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "own_dialect.irdl").write_text(OWN_DIALECT)
    done = subprocess.run(
        [sys.executable, "-c", DIALECT_FILE], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout.split() == ["False", "False", "False", "IRDLDialectLoader"], done.stderr


def test_a_folder_that_is_gone_has_no_dialects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert LateFinder(dict).find_spec("no_dialect", None) is None
