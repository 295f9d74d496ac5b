"""Every page is a program, what it gets word for word, and the program without that.

Below the message stands what each command finds: the simulator, the check before a run, and
compiled kernels on the host. `pytest --update-golden tests/diagnostics` writes messages, tables and
explanations again, and a page for a new code. The pages of the codes are in
docs/reference/diagnostics, others here.
"""

from __future__ import annotations

import linecache
import os
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import pytest

from ttl.cli import main
from ttl.diagnostics import codes
from ttl.diagnostics.pages import PAGES as CODE_PAGES
from ttl.driver import PROCESS_DRIVER
from ttl.driver.artifacts import Artifacts
from ttl.driver.check import Checks
from ttl.driver.remarks import Remarks

OWN_PAGES = Path(__file__).parent
PAGES = sorted([*CODE_PAGES.glob("TTL*.md"), *OWN_PAGES.glob("*.md")])
SECONDS = re.compile(r"\d+(?:\.\d+)? s\b")  # of a kernel that spins
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
FOUND = re.compile(r"^(?:error|warning|note)\[(TTL\d+)\]", re.MULTILINE)

COMMANDS = ("ttl run", "ttl check --compile-only", "ttl run --host")
TABLE = f"| {' | '.join(f'`{command}`' for command in COMMANDS)} |\n|{'---|' * len(COMMANDS)}\n"
NOTHING = "nothing"
CHECKED = "ttl: 1 operation checked, no errors\n"

# Codes that no program alone gets; what gets them is tested elsewhere.
NOT_BY_A_PROGRAM = {
    "TTL5003": "a kernel that is not ours misuses the chip: tests/host",
    "TTL5009": "a device that hangs: tests/unit/device/test_watch.py",
    "TTL6001": "a machine without a compiler: tests/unit/host",
    "TTL6002": "a compiler that rejects a kernel: tests/unit/host",
    "TTL6004": "a folder that holds something else: tests/e2e/test_replay.py",
    "TTL6005": "the real ttnn: tests/device",
    "TTL6015": "kernels written by hand: tests/unit/ttnn/test_generic_op.py",
    "TTL6016": "a system without Landlock: tests/unit/host/test_isolation.py",
    "TTL6017": "a cache folder of somebody else: tests/unit/loading/test_cache_folder.py",
    "TTL6018": "a variable of the environment: tests/unit/driver/test_surroundings.py",
    "TTL6006": "a kernel that is not ours: tests/e2e/test_replay.py",
    "TTL6007": "a machine without pygls: tests/editor/test_lsp.py",
    "TTL6010": "a machine without ttnn: tests/unit/device/test_readiness.py",
    "TTL6011": "a machine with an old ttnn: tests/unit/device/test_readiness.py",
    "TTL6012": "a machine without a device: tests/unit/device/test_readiness.py",
    "TTL6013": "a ttnn without the profiler: tests/e2e/test_device_run.py",
    "TTL6030": "a scheduler of Dask: tests/e2e/test_tune_cluster.py",
    "TTL6019": "a file given to a command: tests/e2e/test_wrong_files.py",
    "TTL6021": "an option of a command: tests/e2e/test_wrong_files.py",
    "TTL6020": "a file that is no flatbuffer: tests of the flatbuffer runtime",
    "TTL7001": "what is not compiled yet changes: tests/unit/frontend",
    "TTL7020": "a graph of PyTorch: tests of tt_torch",
    "TTL7021": "a graph of PyTorch: tests of tt_torch",
    "TTL7022": "a graph of PyTorch: tests of tt_torch",
    "TTL7023": "a graph of PyTorch: tests of tt_torch",
    "TTL7030": "a graph of PyTorch: tests of tt_torch",
    "TTL8001": "IR text: tests/filecheck",
    "TTL8002": "a pipeline: tests/e2e/test_compile_and_opt.py",
    "TTL8003": "IR text: tests/filecheck",
    "TTL9001": "a fault in pyttlang: tests/unit/sim/test_faults.py",
}


@dataclass(frozen=True, slots=True)
class Case:
    """A wrong program, how it is run, what that says, and the program put right."""

    path: Path
    number: int
    wrong: str
    command: list[str]
    said: str
    right: str | None

    def __str__(self) -> str:
        return f"{self.path.stem}-{self.number}"

    @property
    def start(self) -> str:
        """The page from the program to the command; the message follows."""
        return f"{self.wrong}```\n\n```console\n$ {shlex.join(self.command)}\n"

    @property
    def commands(self) -> dict[str, list[str]]:
        """Their commands; none if the program is right and the command line is wrong."""
        if "--trace" in self.command:
            return {}
        strict = ["--strict"] if "--strict" in self.command else []
        return {command: [*command.split(), *strict, "program.py"] for command in COMMANDS}


def cases(path: Path) -> Iterator[Case]:
    blocks = BLOCK.findall(path.read_text(encoding="utf-8"))
    consoles = [place for place, (kind, _) in enumerate(blocks) if kind == "console"]
    for number, place in enumerate(consoles):
        end = consoles[number + 1] - 1 if number + 1 < len(consoles) else len(blocks)
        assert [kind for kind, _ in blocks[place - 1 : end]] in (
            ["python", "console", "python"],
            ["python", "console"],
        )
        command, _, said = blocks[place][1].partition("\n")
        right = blocks[place + 1][1] if place + 1 < end else None
        words = shlex.split(command.removeprefix("$ "))
        yield Case(path, number, blocks[place - 1][1], words, said, right)


CASES = [case for path in PAGES for case in cases(path)]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """Run a program as the page says, in this process; what it changes in it is put back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    before = dict(os.environ)

    def run_program(program: str, command: list[str]) -> tuple[int, str]:
        Path("program.py").write_text(program, encoding="utf-8")
        linecache.clearcache()  # the page before this one had a file of that name
        fresh = {"remarks": Remarks(), "checks": Checks(), "artifacts": Artifacts()}
        for name, value in fresh.items():  # remarks are made once a process
            monkeypatch.setattr(PROCESS_DRIVER, name, value)
        try:
            status = main(command[1:])
        finally:
            os.environ.clear()
            os.environ.update(before)
        return status, SECONDS.sub("5.00 s", capsys.readouterr().err)

    return run_program


# The pages are those of Python 3.11. Later ones place the end of a `with` at what it ends, and the
# jump of a loop at its condition.
# Of a loop without an end, the line that runs is the last one since then.
OTHER_LINE_SINCE = {"TTL5004-0": (3, 14)}
NARROWER_SINCE = {"TTL5004-0": (3, 12), "TTL3001-6": (3, 13), "TTL3020-0": (3, 13)}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_program_gets_the_message(case: Case, run, request: pytest.FixtureRequest) -> None:
    status, said = run(case.wrong, case.command)
    code = codes.CATALOGUE.get(case.path.stem)
    assert status == int("error[" in said), said
    if code is not None:
        forms = (code, code if code.milder is None else code.mild)
        assert any(f"{form.severity.value}[{form.code}]: " in said for form in forms)
        assert f"= more: ttl explain {code.code}" in said
    assert f"{os.sep}ttl{os.sep}" not in said, "a path of the package"
    table = _table({command: _found(case, command, said, run) for command in case.commands})
    if request.config.getoption("--update-golden"):
        _update(case, said, table)
    else:
        assert _placed(said, case) == _placed(case.said, case)
        assert f"{case.start}{case.said}```\n{table}" in case.path.read_text(encoding="utf-8")


def _placed(said: str, case: Case) -> str:
    """Without columns and marks, where this Python has others, and with its own words."""
    if sys.version_info >= (3, 14):
        said = said.replace("integer division or modulo by zero", "division by zero")
    if sys.version_info >= OTHER_LINE_SINCE.get(str(case), (4,)):
        said = re.sub(r"^ *(-->|\d+ \||\|).*\n", "", said, flags=re.MULTILINE)
    if sys.version_info < NARROWER_SINCE.get(str(case), (4,)):
        return said
    return re.sub(r"(:\d+):\d+$|^ +\| +[-^]+", r"\1", said, flags=re.MULTILINE)


def _found(case: Case, name: str, said: str, run) -> list[str]:
    """The codes that a command finds. What it refuses has an error, what it mentions has none."""
    command = case.commands[name]
    if command != case.command:
        status, said = run(case.wrong, command)
        assert status == int("error[" in said), said
    return sorted(set(FOUND.findall(said)))


def _table(found: dict[str, list[str]]) -> str:
    if not found:
        return ""
    cells = [", ".join(codes) or NOTHING for codes in found.values()]
    return f"\n{TABLE}| {' | '.join(cells)} |\n"


def _update(case: Case, said: str, table: str) -> None:
    text = case.path.read_text(encoding="utf-8")
    assert text.count(case.start) == 1
    start = text.index(case.start) + len(case.start)
    end = text.index("```", start) + len("```\n")
    if text.startswith(f"\n{TABLE}", end):
        end = text.index(" |\n", end + len(TABLE)) + len(" |\n")
    case.path.write_text(f"{text[:start]}{said}```\n{table}{text[end:]}", encoding="utf-8")


# What a help names to be written: calls, arguments, names.
NAMED = re.compile(r"[\w.]+(?=\()|\b\w+=[\w.]+|`\w+`")


@pytest.mark.parametrize("case", [case for case in CASES if "help: " in case.said], ids=str)
def test_the_program_put_right_does_what_a_help_names(case: Case) -> None:
    """So that the run of that program, below, is the trial of the help."""
    if case.path.parent == OWN_PAGES:
        return  # as printed in the specification, where they stay as they are
    assert case.right is not None, "the help is not tried"
    helps = [NAMED.findall(each) for each in re.findall(r"= help: (.*)", case.said)]
    names = [[each.strip("`").rpartition(".")[2] for each in named] for named in helps]
    assert any(not each or any(name in case.right for name in each) for each in names), helps


@pytest.mark.sampled(40)
@pytest.mark.parametrize("case", [case for case in CASES if case.right], ids=str)
def test_the_program_put_right_passes_on_every_road(case: Case, run) -> None:
    assert case.right is not None
    assert run(case.right, case.command) in ((0, ""), (0, CHECKED))
    for command in case.commands.values():
        if "check" in command and "@ttl.operation" not in case.right:
            continue  # nothing to check
        if command != case.command:
            assert run(case.right, command) in ((0, ""), (0, CHECKED))


def test_pages_without_a_program_are_listed() -> None:
    shown = {case.path.stem for case in CASES}
    assert {path.stem for path in PAGES} - shown == set(NOT_BY_A_PROGRAM)


@pytest.mark.parametrize("code", codes.CATALOGUE.values(), ids=lambda code: code.code)
def test_every_code_has_a_page(code, request: pytest.FixtureRequest) -> None:
    path = CODE_PAGES / f"{code.code}.md"
    head = f"# {code.code}: {code.slug}\n\n{fill(code.explanation, 100)}\n"
    if request.config.getoption("--update-golden"):
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        _, mark, programs = text.partition("\n## ")
        path.write_text(head + mark + programs, encoding="utf-8")
    assert path.read_text(encoding="utf-8").startswith(head)


@pytest.mark.parametrize("code", codes.CATALOGUE.values(), ids=lambda code: code.code)
def test_only_a_fault_is_called_wrong(code, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", code.code]) == 0
    said = capsys.readouterr().out
    if code.is_fault:
        assert "## A program that gets it" not in said
    else:
        assert not re.search(r"is wrong$|## A wrong program|[Pp]ut right", said, re.MULTILINE)
        assert ("## A program that gets it" in said) == (code.code not in NOT_BY_A_PROGRAM)


def test_no_page_without_a_code() -> None:
    assert {path.stem for path in CODE_PAGES.glob("*.md")} == set(codes.CATALOGUE)
