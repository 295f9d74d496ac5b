"""Removes or displaces one synchronization at a time in every example; is it noticed?

    python tests/mutation/synchronization.py [--jobs N] [example ...]

Each mutant runs under --strict. It is caught if the run ends in an error or gives a warning, at
once or under one of 20 schedule seeds. It is equivalent if what it computes is the same, bit for
bit, under all seeds, simulated and, where the example compiles, compiled. Otherwise it is missed:
the result is wrong and nothing was reported. Exits 1 if less than 95 % of the others are caught.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "examples")]

from mutation.sync_mutants import Mutant, mutants  # noqa: E402

EXAMPLES = ROOT / "examples"
NO_PROGRAMS = ("sample_inputs",)
SEEDS = range(20)
FLOOR = 0.95
BACKENDS = ("sim", "host")


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of a program gave: codes of what was reported, and a digest of its tensors."""

    codes: tuple[str, ...] = ()
    digest: str = ""
    failure: str = ""  # an exception of Python's: no mutant of the language


@dataclass(frozen=True, slots=True)
class Verdict:
    example: str
    mutant: Mutant
    kind: str  # caught, equivalent, missed or invalid
    detail: str = ""

    def __str__(self) -> str:
        mutant = self.mutant
        where = f"{self.example}.py:{mutant.line}"
        return f"{self.kind:10}  {where:24}  {mutant.rule:6}  {self.detail:12}  {mutant.text}"


def run_program(source: str, backend: str, seed: int | None, strict: bool = True) -> Run:
    """Run a program in this process; what kernels print is thrown away."""
    from ttl.diagnostics import TTLError

    digest = hashlib.sha256()
    said = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, _environment(backend, seed, strict):
        file = Path(folder) / "program.py"
        file.write_text(source)
        with _hashed_tensors(digest), redirect_stderr(said), redirect_stdout(io.StringIO()):
            try:
                exec(compile(source, str(file), "exec"), {"__name__": "__main__"})
            except TTLError as error:
                return Run(codes=tuple(found.code.code for found in error.diagnostics))
            except Exception as error:
                return Run(failure=f"{type(error).__name__}: {error}")
    return Run(tuple(re.findall(r"\[(TTL\d+)\]", said.getvalue())), digest.hexdigest())


@contextmanager
def _environment(backend: str, seed: int | None, strict: bool) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(TTL_BACKEND=backend, TTL_STRICT="1" if strict else "0")
    os.environ.pop("TTL_SEED", None)
    if seed is not None:
        os.environ["TTL_SEED"] = str(seed)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _hashed_tensors(digest: Any) -> Iterator[None]:
    """Every tensor of every call, after it."""
    import ttl  # noqa: F401 - binds the hook
    from ttl.language.engine import LAUNCH_HOOK

    plain = LAUNCH_HOOK.launch

    def launch(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        plain(operation, args, kwargs)
        digest.update(operation.__name__.encode())
        for value in (*args, *kwargs.values()):
            if hasattr(value, "storage"):
                digest.update(value.storage.words.tobytes())

    LAUNCH_HOOK.launch = launch
    try:
        yield
    finally:
        LAUNCH_HOOK.launch = plain


def judge(example: str, mutant: Mutant, expected: dict[str, str]) -> Verdict:
    """`expected` has the digest of the example for each backend it runs on."""
    for backend, digest in expected.items():
        for seed in (None, *SEEDS):
            run = run_program(mutant.source, backend, seed)
            where = "" if seed is None else f" seed {seed}"
            if run.failure:
                return Verdict(example, mutant, "invalid", run.failure)
            if run.codes:
                return Verdict(example, mutant, "caught", run.codes[0] + where)
            if run.digest != digest:
                return Verdict(example, mutant, "missed", backend + where)
    return Verdict(example, mutant, "equivalent", "on " + " and ".join(expected))


def expected_digests(source: str) -> dict[str, str]:
    """The digests of an example as it is; one that does not compile yet is not run compiled."""
    runs = {backend: run_program(source, backend, None) for backend in BACKENDS}
    assert not runs["sim"].codes and not runs["sim"].failure, runs["sim"]
    assert runs["sim"].digest != hashlib.sha256().hexdigest(), "no operation was called"
    return {backend: run.digest for backend, run in runs.items() if not run.codes}


def _judged(task: tuple[str, Mutant, dict[str, str]]) -> Verdict:
    return judge(*task)


def _tasks(names: Sequence[str]) -> Iterator[tuple[str, Mutant, dict[str, str]]]:
    for name in names:
        source = (EXAMPLES / f"{name}.py").read_text()
        expected = expected_digests(source)
        for mutant in mutants(source):
            yield name, mutant, expected


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    found = [path.stem for path in sorted(EXAMPLES.glob("*.py")) if path.stem not in NO_PROGRAMS]
    parser.add_argument("example", nargs="*", default=found)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.jobs) as pool:
        verdicts = list(pool.map(_judged, _tasks(options.example)))
    return report(verdicts)


def report(verdicts: Sequence[Verdict]) -> int:
    for verdict in verdicts:
        if verdict.kind != "caught":
            print(verdict)
    counts = Counter(verdict.kind for verdict in verdicts)
    wrong = counts["caught"] + counts["missed"]
    share = counts["caught"] / wrong if wrong else 1.0
    codes = Counter(v.detail.split()[0] for v in verdicts if v.kind == "caught")
    print(", ".join(f"{code}: {count}" for code, count in sorted(codes.items())))
    print(
        f"{counts['caught']} of {wrong} mutants that change a program are caught ({share:.1%}); "
        f"{counts['equivalent']} are equivalent, {counts['invalid']} are no programs"
    )
    return 0 if share >= FLOOR else 1


if __name__ == "__main__":
    sys.exit(main())
