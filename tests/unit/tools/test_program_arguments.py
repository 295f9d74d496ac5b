"""How a command line is split between us and the user's program."""

from __future__ import annotations

import argparse

import pytest

from ttl.tools.cli import compile as compile_verb
from ttl.tools.cli import run as run_verb
from ttl.tools.cli.program import program_arguments_last

RUN = {
    "file alone": ("p.py", "p.py", [], {}),
    "option before": ("--host p.py", "p.py", [], {"host": True}),
    "option behind": ("p.py --host", "p.py", [], {"host": True}),
    "option with value": ("--trace t p.py", "p.py", [], {"trace": "t"}),
    "option with value behind": ("p.py --trace t x", "p.py", ["x"], {"trace": "t"}),
    "option with =": ("p.py --trace=t x", "p.py", ["x"], {"trace": "t"}),
    "arguments": ("p.py a b", "p.py", ["a", "b"], {}),
    "unknown options are the program's": ("p.py --n 3 -v", "p.py", ["--n", "3", "-v"], {}),
    "ours between theirs": ("p.py a --host -v", "p.py", ["a", "-v"], {"host": True}),
    "after -- all is theirs": ("p.py a -- --host", "p.py", ["a", "--host"], {"host": False}),
    "-- before the file": ("-- p.py", "p.py", [], {}),
}


def parse(verb: object, line: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False)
    verb.add_arguments(parser)  # type: ignore[attr-defined]
    return parser.parse_args(program_arguments_last(parser, line.split()))


@pytest.mark.parametrize("case", RUN)
def test_run(case: str) -> None:
    line, file, arguments, options = RUN[case]
    parsed = parse(run_verb, line)
    assert (parsed.file, parsed.arguments) == (file, arguments)
    for name, value in options.items():
        assert getattr(parsed, name) == value


def test_compile_has_a_value_for_o() -> None:
    parsed = parse(compile_verb, "p.py -o out -x --compile-only")
    assert (parsed.file, parsed.output, parsed.compile_only) == ("p.py", "out", True)
    assert parsed.arguments == ["-x"]


@pytest.mark.parametrize("line", ["", "--host", "--trace"])
def test_without_a_file(line: str) -> None:
    with pytest.raises((SystemExit, argparse.ArgumentError)):
        parse(run_verb, line)
