"""Runs the RUN lines of the files beside it.

A RUN line is `[VARIABLE=value ...] [not] ttl ARGUMENTS`, then either `[2>&1] | filecheck %s` or,
where the command writes a file, `&& filecheck %s < %t`. Commands run in this process.
"""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options
from filecheck.parser import Parser
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser as IRParser

from golden.example_programs import OPERATIONS, example_module
from ttgraph.dialects import make_context
from ttgraph.passes import find_pass, run_passes
from ttgraph.passes.pipelines import GRAPH, KNOWN, PIPELINES
from ttl.cli import main
from ttl.codegen import assemble
from ttl.dialects import print_module
from ttl.passes import PIPELINE

HERE = Path(__file__).parent
RUN = re.compile(
    r"^(?://|#) RUN: (?P<command>.*?)(?P<end> (?:2>&1 )?\| | && )filecheck (?P<check>.*)$"
)


@dataclass(frozen=True)
class RunLine:
    file: Path
    environment: dict[str, str]
    fails: bool
    arguments: tuple[str, ...]
    both_streams: bool
    from_file: bool
    check: tuple[str, ...]

    @property
    def pipeline(self) -> str:
        given = self.arguments
        return given[given.index("-p") + 1] if "-p" in given else ""


def run_lines(file: Path) -> Iterator[RunLine]:
    for line in file.read_text().splitlines():
        if "RUN:" not in line:
            continue
        match = RUN.match(line)
        assert match, f"{file}: {line}"
        words = shlex.split(match["command"])
        environment = {}
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            environment[name] = value
        fails = words[0] == "not"
        words = words[fails:]
        assert words[0] == "ttl", line
        yield RunLine(
            file=file,
            environment=environment,
            fails=fails,
            arguments=tuple(words[1:]),
            both_streams="2>&1" in match["end"],
            from_file="&&" in match["end"],
            check=tuple(shlex.split(match["check"].replace("< %t", ""))),
        )


FILES = sorted([*HERE.glob("*.mlir"), *HERE.glob("frontend_*.py")])
LINES = [line for file in FILES for line in run_lines(file)]


def execute(line: RunLine, tmp_path: Path) -> tuple[int, str]:
    """The exit status, and what goes to filecheck."""
    out = tmp_path / "out"
    replaced = {"%s": str(line.file), "%t": str(out)}
    stdout, stderr = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(stdout), redirect_stderr(stderr):
        for name, value in line.environment.items():
            patch.setenv(name, replaced.get(value, value))
        patch.setattr("sys.argv", ["ttl"])  # `ttl run` gives the program its own
        patch.setattr("sys.path", list(sys.path))
        patch.setitem(sys.modules, "__main__", sys.modules["__main__"])
        status = main([replaced.get(word, word) for word in line.arguments])
    if line.from_file:
        return status, out.read_text()
    return status, stdout.getvalue() + (stderr.getvalue() if line.both_streams else "")


def check(line: RunLine, text: str) -> str:
    """What filecheck has to say; empty when it is content."""
    words = [str(line.file) if word == "%s" else word for word in line.check]
    options = parse_argv_options(["filecheck", *words, "--allow-empty"])
    matcher = Matcher(options, FInput(options.match_filename, text), Parser.from_opts(options))
    matcher.stderr = io.StringIO()
    return "" if matcher.run() == 0 else matcher.stderr.getvalue() or "filecheck failed"


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.file.name}:{line.check[-1]}")
def test_run_line(line: RunLine, tmp_path: Path) -> None:
    status, text = execute(line, tmp_path)
    assert (status != 0) == line.fails, text
    assert check(line, text) == ""


@pytest.mark.parametrize("name", [*PIPELINE, *GRAPH])
def test_every_pass_has_a_file_that_it_changes(name: str) -> None:
    line = next(
        line
        for line in LINES
        if line.pipeline.partition("{")[0] == name and line.file.stem == name.replace("-", "_")
    )
    untouched, changed = (io.StringIO() for _ in range(2))
    for out, pipeline in ((untouched, ""), (changed, line.pipeline)):
        with redirect_stdout(out):
            assert main(["opt", str(line.file), "-p", pipeline]) == 0
    assert untouched.getvalue() != changed.getvalue()


@pytest.mark.parametrize("name", PIPELINE)
def test_every_pass_has_a_file_in_which_it_refuses_or_leaves_something(name: str) -> None:
    lines = [line for line in LINES if line.pipeline.partition("{")[0] == name]
    assert any(line.fails or "CHECK-NOT" in line.file.read_text() for line in lines)


def test_filecheck_notices_a_wrong_line(tmp_path: Path) -> None:
    """Else everything above could pass for the wrong reason."""
    line = next(line for line in LINES if line.file.name == "cse.mlir")
    _, text = execute(line, tmp_path)
    assert check(line, text) == ""
    assert check(line, text.replace("%p, %p", "%p, %x")) != ""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", OPERATIONS)
def test_compiling_goes_on_from_the_text_of_any_stage(name: str) -> None:
    def kernels(module: ModuleOp) -> list[str]:
        """Without the user's lines, which the text does not have."""
        kernels = assemble("", module, ()).kernels
        return [re.sub(r"  // .*", "", kernel.cpp_source) for kernel in kernels]

    module, context = example_module(name), make_context()
    for each in PIPELINE:
        module = IRParser(context, print_module(module)).parse_module()
        run_passes([find_pass(each)()], context, module)
    assert kernels(module) == kernels(example_module(name, PIPELINE[-1]))


def test_the_list_of_passes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["opt", "--list"])
    lines = capsys.readouterr().out.splitlines()
    listed = [line.split()[0] for line in lines if line.startswith("  ")]
    assert ended.value.code == 0 and listed == [*KNOWN, *PIPELINES]
    assert all(len(line.split()) > 2 for line in lines if line.startswith("  "))


@pytest.mark.parametrize("after", [None, *PIPELINE])
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("generic", [False, True], ids=["pretty", "generic"])
def test_round_trip(name: str, after: str | None, generic: bool) -> None:
    """parse(print(module)) prints the same text, so `ttl opt` can go on from any dump."""
    text = print_module(example_module(name, after), generic=generic)
    again = IRParser(make_context(), text).parse_module()
    again.verify()
    assert print_module(again, generic=generic) == text
