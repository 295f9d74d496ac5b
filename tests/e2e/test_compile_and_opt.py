"""`ttl compile`, `ttl opt`, `ttl explain`, the dumps, and wrong command lines."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ttl.passes import PIPELINE

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("elementwise", "matmul_bias_relu")
CSE = Path(__file__).parents[1] / "filecheck" / "cse.mlir"


@pytest.mark.parametrize("name", NAMES)
def test_compile_writes_kernels_and_manifest(
    run: Any, check_headers: Any, tmp_path: Path, name: str
) -> None:
    done = run("ttl", "compile", EXAMPLES / f"{name}.py", "-o", "out")
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "out"
    kernels = {str(path.relative_to(folder)) for path in folder.rglob("*.cpp")}
    assert kernels == {f"kernels/{kernel}.cpp" for kernel in ("compute", "read", "write")}
    manifest = json.loads((folder / "manifest.json").read_text())
    assert {kernel["file"] for kernel in manifest["pyttl"]["kernels"]} == kernels
    check_headers(folder)
    assert "largest error 0." in done.stdout  # it ran too, on the simulator


def test_compile_only_leaves_tensors_alone(run: Any, tmp_path: Path) -> None:
    done = run("ttl", "compile", "--compile-only", EXAMPLES / "elementwise.py", "-o", "out")
    assert done.returncode == 0 and "largest error 100.00%" in done.stdout
    by_variable = run("ttl", "run", EXAMPLES / "elementwise.py", TTLANG_COMPILE_ONLY="1")
    assert by_variable.returncode == 0 and "largest error 100.00%" in by_variable.stdout
    assert (tmp_path / "out" / "manifest.json").exists()


def test_a_program_that_would_hang_is_not_compiled(run: Any, tmp_path: Path) -> None:
    program = EXAMPLES / "wrong" / "deadlock.py"
    done = run("ttl", "compile", "--compile-only", program, "-o", "out")
    assert done.returncode == 1
    assert done.stderr.startswith("error[TTL5001]: deadlock: `write` waits on `z_dfb`")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("ending", ["", "raise SystemExit", "raise SystemExit(0)"])
def test_compile_of_a_program_that_calls_no_operation(
    run: Any, tmp_path: Path, ending: str
) -> None:
    (tmp_path / "none.py").write_text(f"import ttl\n{ending}\n")
    done = run("ttl", "compile", "none.py", "-o", "out")
    assert done.returncode == 1
    assert done.stderr == "ttl: none.py calls no operation; nothing was compiled\n"
    assert not (tmp_path / "out").exists()


def test_compile_into_a_file_is_an_error(run: Any, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    done = run("ttl", "compile", EXAMPLES / "elementwise.py", "-o", "taken")
    assert done.returncode == 1
    assert "error[TTL6003]" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_dumps_can_be_read_again(run: Any, tmp_path: Path, name: str) -> None:
    """The first dump through all passes by `ttl opt` is the last one."""
    program = EXAMPLES / f"{name}.py"
    done = run(
        "python",
        program,
        TTLANG_COMPILE_ONLY="1",
        TTLANG_INITIAL_MLIR="initial.mlir",
        TTLANG_FINAL_MLIR="final.mlir",
        TTLANG_VERBOSE_PASSES="1",
    )
    assert done.returncode == 0, done.stderr
    headers = [line for line in done.stderr.splitlines() if line.startswith("// -----// IR")]
    around = [(when, each) for each in PIPELINE for when in ("before", "after")]
    assert headers == [f"// -----// IR {when} {each} //----- //" for when, each in around]
    opt = run("ttl", "opt", "initial.mlir", "-p", ",".join(PIPELINE))
    assert opt.returncode == 0, opt.stderr
    assert opt.stdout == (tmp_path / "final.mlir").read_text()
    unchanged = run("ttl", "opt", "final.mlir")
    assert unchanged.stdout == (tmp_path / "final.mlir").read_text()


def test_opt_reads_standard_input_and_prints_after_passes(run: Any) -> None:
    text = CSE.read_text()
    every = run("ttl", "opt", "-", "-p", "canonicalize,cse", "--print-ir-after-all", stdin=text)
    assert every.returncode == 0
    after = [f"// -----// IR after {name} //----- //" for name in ("canonicalize", "cse")]
    assert [line for line in every.stderr.splitlines() if "IR after" in line] == after
    one = run("ttl", "opt", "-", "-p", "canonicalize,cse", "--print-ir-after=cse", stdin=text)
    assert [line for line in one.stderr.splitlines() if "IR after" in line] == after[1:]
    assert one.stdout == every.stdout
    assert one.stdout in one.stderr
    none = run("ttl", "opt", "-", "-p", "canonicalize,cse", stdin=text)
    assert (none.stdout, none.stderr) == (every.stdout, "")


def test_opt_takes_options_of_passes(run: Any) -> None:
    file = CSE.parent / "ttl_set_compute_kernel_config.mlir"
    done = run("ttl", "opt", file, "-p", "ttl-set-compute-kernel-config{fp32_dest_acc_en=true}")
    assert done.returncode == 0 and "fp32_dest_acc_en = false" not in done.stdout


def test_opt_times_and_verifies_passes(run: Any) -> None:
    plain = run("ttl", "opt", CSE, "-p", "canonicalize,cse")
    done = run("ttl", "opt", CSE, "-p", "canonicalize,cse", "--time-passes", "--verify-each")
    assert done.returncode == 0 and done.stdout == plain.stdout
    lines = [line.split() for line in done.stderr.splitlines()]
    assert [words[2:] for words in lines] == [["canonicalize"], ["cse"], ["total"]]
    times = [float(words[0]) for words in lines]
    assert all(words[1] == "ms" for words in lines) and abs(sum(times[:2]) - times[2]) < 0.01


def test_explain(run: Any) -> None:
    done = run("ttl", "explain", "ttl5001")
    assert done.returncode == 0 and done.stdout.startswith("TTL5001 (deadlock)")
    whole = run("ttl", "explain", "TTL5001", "--all").stdout
    first, _, others = done.stdout.partition("\n## More programs\n")
    assert whole.startswith(first.rstrip()) and "\n## A wrong program\n" in first
    assert "\n## Put right\n" in first and first.count("```python") == 2
    assert "`ttl explain TTL5001 --all` shows them" in others
    titles = [line.removeprefix("- ") for line in others.splitlines() if line.startswith("- ")]
    assert titles and all(f"\n## {title}\n" in whole for title in titles)
    _, columns, *listed = run("ttl", "explain").stdout.splitlines()
    assert columns.split() == ["code", "name", "what", "it", "is"]
    assert any(line.startswith("TTL5001  deadlock  ") for line in listed)
    assert listed == sorted(listed)


# Arguments, exit status, what is reported. 2: the command line cannot be read; 1: it can.
WRONG = {
    "unknown verb": (("fly",), 2, "there is no verb `fly`"),
    "no file": (("run",), 2, "FILE"),
    "missing program": (("run", "nowhere.py"), 1, "error[TTL6003]: nowhere.py"),
    "missing IR": (("opt", "nowhere.mlir"), 1, "error[TTL6003]: nowhere.mlir"),
    "unknown option": (("opt", str(CSE), "--fast"), 2, "--fast"),
    "unknown pass": (("opt", str(CSE), "-p", "csse"), 1, "did you mean cse?"),
    "unknown pass option": (("opt", str(CSE), "-p", "cse{x=1}"), 1, "error[TTL8002]"),
    "unreadable pipeline": (("opt", str(CSE), "-p", "cse{"), 1, "error[TTL8002]"),
    "no IR": (("opt", __file__), 1, "error[TTL8001]"),
    "no text": (("opt", sys.executable), 1, "error[TTL8001]"),
    "print after no pass": (
        ("opt", str(CSE), "--print-ir-after=nopass"),
        1,
        "error[TTL8002]",
    ),
    "print after a pass that does not run": (
        ("opt", str(CSE), "-p", "canonicalize", "--print-ir-after=cse"),
        1,
        "error[TTL8002]",
    ),
    "unknown code": (("explain", "TTL0000"), 1, "there is no diagnostic `TTL0000`; `ttl explain`"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", WRONG)
def test_wrong_command_lines(run: Any, case: str) -> None:
    arguments, status, message = WRONG[case]
    done = run("ttl", *arguments)
    assert done.returncode == status
    assert message in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""


def test_json_of_opt_errors(run: Any) -> None:
    done = run("ttl", "opt", "--json", "-", stdin="builtin.module {\n  %x = \n}\n")
    assert done.returncode == 1
    (diagnostic,) = map(json.loads, done.stderr.splitlines())
    assert diagnostic["code"] == "TTL8001" and diagnostic["primary"]["start"][0] == 3


def test_wrong_choices_of_the_environment(run: Any) -> None:
    done = run("ttl", "run", EXAMPLES / "elementwise.py", TTL_BACKEND="chip")
    assert done.returncode == 1 and "TTL_BACKEND=chip: not one of sim, host, device" in done.stderr
