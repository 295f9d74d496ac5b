"""How a command line is split between us and the user's program."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from ttl.cli import compile as compile_verb
from ttl.cli import parse_program_verb
from ttl.cli import run as run_verb
from ttl.cli.program import run_program
from ttl.config import Config
from ttl.diagnostics import UsageError, WarningOptions

RUN = {
    "file alone": ("p.py", "p.py", [], {}),
    "option before": ("--host p.py", "p.py", [], {"backend": "host"}),
    "option after it": ("p.py --host", "p.py", [], {"backend": "host"}),
    "option with value": ("--trace t p.py", "p.py", [], {"trace": "t"}),
    "option with a value after it": ("p.py --trace t x", "p.py", ["x"], {"trace": "t"}),
    "option with =": ("p.py --trace=t x", "p.py", ["x"], {"trace": "t"}),
    "arguments": ("p.py a b", "p.py", ["a", "b"], {}),
    "unknown options are the program's": ("p.py --n 3 -v", "p.py", ["--n", "3", "-v"], {}),
    "ours between theirs": ("p.py a --host -v", "p.py", ["a", "-v"], {"backend": "host"}),
    "after -- all is theirs": ("p.py a -- --host", "p.py", ["a", "--host"], {"backend": None}),
    "-- before the file": ("-- p.py", "p.py", [], {}),
    "another -- is theirs": ("p.py -- a -- b", "p.py", ["a", "--", "b"], {}),
    "another -- after arguments": ("p.py x -- --", "p.py", ["x", "--"], {}),
    "--trace alone": ("p.py --trace", "p.py", [], {"trace": "trace.jsonl"}),
    "--trace never takes the program": ("--trace p.py", "p.py", [], {"trace": "trace.jsonl"}),
    "--trace takes what follows": ("p.py --trace t.py x", "p.py", ["x"], {"trace": "t.py"}),
    "--trace takes no option": ("p.py --trace --host", "p.py", [], {"backend": "host"}),
    "grid": ("p.py --grid 2,4 x", "p.py", ["x"], {"grid": "2,4"}),
    "limits": (
        "p.py --max-dfbs 3 --max-l1=4096 --num-devices 2",
        "p.py",
        [],
        {"max_dfbs": "3", "max_l1": "4096", "num_devices": "2"},
    ),
}


def parse(verb: ModuleType, line: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    return parse_program_verb(parser, verb.__name__.rpartition(".")[2], line.split())


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


WRONG = {
    "nothing": "",
    "no file": "--host",
    "no value": "p.py --seed",
    "unknown option before the file": "--hots p.py",
    "grid of one size": "p.py --grid 8",
    "grid of three sizes": "p.py --grid 8,8,2",
    "grid of nothing": "p.py --grid 0,8",
    "target": "p.py --target greyhound",
    "target of a device": "p.py --target blackhole --backend device",
    "scheduler": "p.py --scheduler eager",
    "rounding": "p.py --rounding up",
    "no buffers": "p.py --max-dfbs 0",
    "bytes": "p.py --max-l1 1k",
    "no devices": "p.py --num-devices -1",
    "both precisions": "p.py --float32 --no-float32-promotion",
    "events without a trace": "p.py --trace-events kernel",
    "events without a trace, the others": "p.py --no-trace-events kernel",
    "both kinds of events": "p.py --trace --trace-events copy --no-trace-events dfb",
    "events that are not there": "p.py --trace --trace-events copies",
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_command_lines_end_with_2(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(run_verb, WRONG[case])
    assert caught.value.code == 2
    assert "error: " in capsys.readouterr().err


ALL_EVENTS = ("operation", "kernel", "dfb", "copy", "pipe", "semaphore", "signpost")
OPTIONS = {
    "--target blackhole": {"target": "blackhole"},
    "--target BH": {"target": "blackhole"},
    "--target=Wormhole-full": {"target": "wormhole_b0_full"},
    "--grid 2,4": {"grid": (4, 2)},
    "--scheduler fair": {"scheduler": "fair"},
    "--scheduler greedy": {"scheduler": "greedy"},
    "--rounding chip": {"rounding": "chip"},
    "--seed 3": {"seed": 3},
    "--max-dfbs 3": {"max_dataflow_buffers": 3},
    "--max-l1 4096": {"max_l1_bytes": 4096},
    "--num-devices 2": {"num_devices": 2},
    "--host": {"backend": "host"},
    "--float32": {"float32": True},
    "--no-float32-promotion": {"float32": False},
    "--strict": {"strict": True},
    "-W error": {"warnings": WarningOptions.read("error")},
    "-Werror=TTL3006": {"warnings": WarningOptions.read("error=TTL3006")},
    "-W error -Wignore=buffer-leftover": {
        "warnings": WarningOptions((("error", None), ("ignore", "TTL3006"))),
    },
    "--json": {"json": True},
    "--dry-run": {"dry_run": True},
    "--trace t": {"trace": "t", "trace_events": ALL_EVENTS},
    "--trace t --trace-events dfb,copy": {"trace": "t", "trace_events": ("dfb", "copy")},
    "--trace t --trace-events all": {"trace": "t", "trace_events": ALL_EVENTS},
    "--trace t --no-trace-events dfb,copy": {
        "trace": "t",
        "trace_events": ("operation", "kernel", "pipe", "semaphore", "signpost"),
    },
    "--trace t --no-trace-events all": {"trace": "t", "trace_events": ()},
}


@pytest.mark.parametrize("line", OPTIONS)
def test_options_become_settings(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each changes what it names and nothing else; a trace file is named in full."""
    monkeypatch.chdir(tmp_path)
    variables = run_verb.run_variables(parse(run_verb, f"p.py {line}"))
    expected = dict(OPTIONS[line])
    if "trace" in expected:
        expected["trace"] = str(tmp_path / "t")
    fixed = {"PYTTLANG_CACHE": "cache"}
    assert Config.from_environment(fixed | variables) == replace(
        Config.from_environment(fixed), **expected
    )


def test_no_float32_promotion_wins_over_the_environment() -> None:
    variables = run_verb.run_variables(parse(run_verb, "p.py --no-float32-promotion"))
    assert not Config.from_environment({"TTL_FLOAT32": "1"} | variables).float32


@pytest.mark.parametrize(
    "variable",
    ["TTL_GRID=8", "TTL_GRID=8,x", "TTL_MAX_DFBS=0", "TTL_MAX_L1=1k", "TTL_NUM_DEVICES=two"],
)
def test_wrong_variables_are_diagnosed(variable: str) -> None:
    name, value = variable.split("=")
    with pytest.raises(UsageError, match=variable):
        Config.from_environment({name: value})


def test_values_of_names_that_a_program_assigns_at_its_top_level(tmp_path, capsys) -> None:
    file = tmp_path / "program.py"
    file.write_text("A, B = 1, 2\nC: int = 3\nprint(A, B, C)\n")
    assert run_program(str(file), [], {}, {"B": 5, "C": "x"}) == 0
    assert capsys.readouterr().out == "1 5 x\n"
    with pytest.raises(UsageError, match="does not assign it"):
        run_program(str(file), [], {}, {"D": 1})
