"""Breaks rules of the language one at a time; the tests of the rule must notice.

    python tests/mutation/language.py [--jobs N] [rule ...]

Each mutant is a copy of src with one text replaced. The tests that carry the rule's marker run on
the copy and have to fail; on src itself they have to pass. Exits 1 if a mutant survives, if a text
is not found exactly once, or if the tests fail without any mutant.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
sys.path.insert(0, str(ROOT / "tests"))

from conformance.report import marked_tests  # noqa: E402

TESTS_FAILED = 1  # pytest's exit code; others mean that nothing was tested


@dataclass(frozen=True, slots=True)
class Mutant:
    """A rule, and a change in a file under src/ttl that breaks it."""

    rule: str
    file: str
    text: str
    replacement: str

    @property
    def path(self) -> Path:
        return Path("ttl") / self.file


PROTOCOL = "semantics/block_protocol.py"
TENSORS = "semantics/tensors.py"
NODES = "semantics/nodes.py"
LIMITS = "semantics/limits.py"
SYNC = "source/facts/releases.py"
ELEMENTWISE = "semantics/ops/elementwise.py"
REDUCE = "semantics/ops/reduce.py"
RULES = "semantics/ops/rules.py"
KERNEL_END = "sim/kernel_end.py"
PIPES = "sim/pipes.py"
SEMAPHORES = "sim/semaphores.py"
EXPRESSIONS = "sim/expressions.py"

MUTANTS = (
    # The life of a block
    Mutant(
        "state-start",
        "sim/kernel.py",
        "SimBlock(end, self, index, MUST_READ)\n",
        "SimBlock(end, self, index, State.READ_WRITE)\n",
    ),
    Mutant("state-store", PROTOCOL, "    (RW, Event.STORE): MR,\n", "    (RW, Event.STORE): RW,\n"),
    Mutant(
        "state-store",
        PROTOCOL,
        "    (RW, Event.STORE): MR,\n",
        "    (RW, Event.STORE): MR,\n    (MR, Event.STORE): MR,\n",
    ),
    Mutant("state-read", PROTOCOL, "    (MR, Event.READ): RW,\n", "    (MR, Event.READ): MR,\n"),
    Mutant(
        "state-read-unwritten",
        PROTOCOL,
        "    (MR, Event.READ): RW,\n",
        "    (MR, Event.READ): RW,\n    (MW, Event.READ): RW,\n",
    ),
    Mutant(
        "raw-read-state",
        PROTOCOL,
        "    (MR, Event.READ_ELEMENT): RW,\n",
        "    (MR, Event.READ_ELEMENT): RW,\n    (MW, Event.READ_ELEMENT): RW,\n",
    ),
    Mutant("raw-write-state", PROTOCOL, "    (MR, Event.WRITE_ELEMENT): MR,\n", ""),
    Mutant("state-accumulate", PROTOCOL, "    (MR, Event.ACCUMULATE): MR,\n", ""),
    Mutant(
        "state-copy-into",
        PROTOCOL,
        "    (MW, Event.COPY_INTO): NAW,\n",
        "    (MW, Event.COPY_INTO): NAW,\n    (MR, Event.COPY_INTO): NAW,\n",
    ),
    Mutant(
        "state-touch-while-written",
        PROTOCOL,
        "    (NAW, Event.COPY_INTO_DONE): MR,\n",
        "    (NAW, Event.COPY_INTO_DONE): MR,\n    (NAW, Event.PUSH): OS,\n",
    ),
    Mutant(
        "state-copy-from",
        "sim/block.py",
        "            if self.transfers_reading:\n",
        "            if False:\n",
    ),
    Mutant(
        "state-touch-released",
        PROTOCOL,
        "    (RW, Event.POP): OS,\n",
        "    (RW, Event.POP): OS,\n    (OS, Event.READ): OS,\n",
    ),
    Mutant(
        "state-push",
        PROTOCOL,
        "    (MR, Event.PUSH): OS,\n",
        "    (MR, Event.PUSH): OS,\n    (MW, Event.PUSH): OS,\n",
    ),
    Mutant(
        "state-pop",
        PROTOCOL,
        "    (RW, Event.POP): OS,\n",
        "    (RW, Event.POP): OS,\n    (MR, Event.POP): OS,\n",
    ),
    Mutant("end-of-kernel", KERNEL_END, "    if kernel.transfers:\n", "    if False:\n"),
    # Buffers
    Mutant(
        "release-order",
        "sim/block.py",
        "        if end.is_producer or not all(block.state in REPLACEABLE for block in older):\n",
        "        if False:\n",
    ),
    Mutant(
        "several-blocks",
        "sim/buffer.py",
        "ProducerEnd(self, plan.declared.block_count)",
        "ProducerEnd(self, plan.declared.block_count + 1)",
    ),
    Mutant(
        "one-producer-one-consumer",
        "sim/kernel.py",
        "        if end.kernel is not None and end.kernel is not self:\n",
        "        if False:\n",
    ),
    Mutant(
        "end-of-operation",
        "sim/leftovers.py",
        "            if buffer.filled and ",
        "            if False and ",
    ),
    Mutant(
        "buffer-limit",
        LIMITS,
        "if len(buffers) > target.dataflow_buffers:",
        "if len(buffers) > target.dataflow_buffers + 1:",
    ),
    Mutant(
        "l1-budget",
        "semantics/types.py",
        "    return prod(shape) * unit_bytes\n",
        "    return prod(shape[-2:]) * unit_bytes // 2\n",
    ),
    Mutant(
        "fp32-dest",
        "semantics/dtypes.py",
        "    return values.astype(dtype.storage).astype(_SINGLE)\n",
        "    return values.astype(_SINGLE)\n",
    ),
    Mutant(
        "store-converts",
        RULES,
        "value.dtype not in (None, block.dtype) and not block.dtype",
        "value.dtype is False and not block.dtype",
    ),
    Mutant(
        "store-converts",
        "semantics/dtypes.py",
        "        array[...] = values  # numpy rounds",
        "        array.view('u2')[...] = values.view('u4') >> 16  # numpy rounds",
    ),
    Mutant(
        "store-into-waited",
        EXPRESSIONS,
        "        block.slot = np.empty_like(block.slot)\n",
        "        return\n",
    ),
    Mutant("iadd-reserved", EXPRESSIONS, "np.zeros_like(before) if is_first else before", "before"),
    Mutant(
        "iadd-rounding",
        EXPRESSIONS,
        "    block.running_sum = round_to(summed, format_of(",
        "    block.running_sum = round_to(round_to(summed, block.end.buffer.held), format_of(",
    ),
    Mutant(
        "store-shape",
        RULES,
        "meet(value.shape, block.shape) != block.shape",
        "len(value.shape) != len(block.shape)",
    ),
    Mutant(
        "can-acquire",
        "sim/kernel.py",
        "        self.poll(end)\n        return end.credits > 0\n",
        "        self.poll(end)\n        return True\n",
    ),
    # Implicit release and wait
    Mutant(
        "implicit-release",
        SYNC,
        "        around = (*before, *leaving, new, *after)\n",
        "        around = (*before, *leaving, new)\n",
    ),
    Mutant(
        "implicit-release-order",
        "source/facts/supplies.py",
        "is_here and (handle.end is None or handle.end not in older):\n",
        "is_here:\n",
    ),
    Mutant(
        "implicit-wait",
        SYNC,
        "sorted(supplies, key=lambda supply: not supply.is_wait)",
        "sorted(supplies, key=lambda supply: supply.is_wait)",
    ),
    Mutant(
        "bare-copy",
        SYNC,
        "                self.at_once.add(site)\n",
        "                pass\n",
    ),
    Mutant(
        "some-paths",
        SYNC,
        "sides = (*new.then, *then), (*new.otherwise, *otherwise)\n",
        "sides = new.then, new.otherwise\n",
    ),
    # Copies and slices
    Mutant("copy-shapes", TENSORS, "        least <= ones <= most for", "        ones <= most for"),
    Mutant(
        "copy-shapes",
        TENSORS,
        "    if [size for size in sizes if size != 1] != [size for",
        "    if len(block) > 2 and [size for size in sizes if size != 1] != [size for",
    ),
    Mutant(
        "slice-bounds",
        TENSORS,
        "if not 0 <= start < stop <= size:",
        "if not 0 <= start < stop <= size + 1:",
    ),
    Mutant("slice-bounds", TENSORS, "if item.step in (None, 1):", "if True:"),
    Mutant(
        "copy-dtype-layout",
        "sim/copies.py",
        "if tensor.dtype is not type_.dtype:",
        "if False:",
    ),
    Mutant(
        "group-transfer",
        "sim/transfers.py",
        "    def wait(self) -> None:\n        if self.is_done or self.group is not None:\n",
        "    def wait(self) -> None:\n        if self.is_done:\n",
    ),
    # Pipes
    Mutant("rendezvous", PIPES, "self.missing = len(pipe.counts)", "self.missing = 2"),
    Mutant(
        "pipe-order",
        PIPES,
        "    run.counts[end.index] = number + 1\n    meeting.posts",
        "    run.counts[end.index] = number\n    meeting.posts",
    ),
    Mutant(
        "pipe-roles",
        PIPES,
        'or not role.open_calls:\n        raise end.wrong_use(kernel, "if_dst")',
        ':\n        raise end.wrong_use(kernel, "if_dst")',
    ),
    Mutant(
        "if-src-if-dst",
        "sim/nets.py",
        "for run, index in runs]",
        "for run, index in runs[::-1]]",
    ),
    Mutant("pipe-inside-grid", NODES, "<= extent[-1] < size:", "<= extent[-1] <= size:"),
    Mutant(
        "mesh-coordinates",
        NODES,
        "for size in reversed(grid[len(head) :]):",
        "for size in grid[len(head) :]:",
    ),
    # Semaphores
    Mutant("semaphore-initial", SEMAPHORES, "self.value = declared.initial", "self.value = 0"),
    Mutant(
        "semaphore-wait-ge",
        SEMAPHORES,
        "return value >= self.wanted if",
        "return value > self.wanted if",
    ),
    Mutant(
        "semaphore-wait-eq", SEMAPHORES, "else value == self.wanted", "else value >= self.wanted"
    ),
    Mutant(
        "semaphore-32-bit",
        SEMAPHORES,
        "(self.value + added) % SEMAPHORE_VALUES",
        "(self.value + added)",
    ),
    Mutant(
        "semaphore-multicast-set",
        SEMAPHORES,
        "    for node in nodes:\n",
        "    for node in nodes[:1]:\n",
    ),
    Mutant(
        "print-one-object",
        "semantics/printing.py",
        "if object_count > 1:",
        "if object_count > 2:",
    ),
    # Operators
    Mutant(
        "fill-shapeless",
        KERNEL_END,
        "for place in kernel.shapeless.values():",
        "for place in []:",
    ),
    Mutant("row-major-compute", RULES, "if type.layout is ROW_MAJOR_LAYOUT:", "if False:"),
    Mutant(
        "reduce-placement",
        REDUCE,
        "else np.zeros(extent, dtype)",
        "else np.ones(extent, dtype)",
    ),
    Mutant(
        "reduce-scaler",
        REDUCE,
        "clear_nan_signs(values * factor)",
        "clear_nan_signs(values * factor ** len(reduced))",
    ),
    Mutant(
        "broadcast",
        "semantics/ops/shape.py",
        "slice(0, 1) if dim in expanded else",
        "slice(1, 2) if dim in expanded else",
    ),
    Mutant(
        "remainder-and-floor",
        ELEMENTWISE,
        "return np.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest)",
        "return rest",
    ),
    Mutant(
        "round-half-even",
        "semantics/ops/rounding.py",
        "np.rint(scaled) / scale",
        "np.floor(scaled + 0.5) / scale",
    ),
    Mutant(
        "threshold",
        "semantics/ops/rounding.py",
        "np.where(x > threshold, value, x)",
        "np.where(x >= threshold, value, x)",
    ),
    Mutant(
        "signbit",
        "semantics/ops/rounding.py",
        "one_where(has_no_sign(x), x)",
        "one_where(x >= 0, x)",
    ),
    Mutant(
        "equal-shapes",
        RULES,
        "    fits = all(OPEN in (a, b) or a == b for",
        "    fits = all(1 in (a, b) or OPEN in (a, b) or a == b for",
    ),
    Mutant(
        "matmul",
        "semantics/ops/matmul.py",
        "elif columns[:-2] not in ((), rows[:-2]):",
        "elif False:",
    ),
    Mutant("equal-dtypes", RULES, "    if left.dtype != right.dtype:\n", "    if False:\n"),
    Mutant(
        "integer-division",
        ELEMENTWISE,
        '        "/",\n        domain=Domain.FLOATS',
        '        "/",\n        domain=Domain.ALL',
    ),
    Mutant(
        "fp32-dest",
        "semantics/kernel_config.py",
        "    if fp32_dest_acc_en:\n        return float32\n",
        "",
    ),
)


all_tests = cache(marked_tests)


def node_ids_of(rule: str) -> list[str]:
    return [test.node_id for test in all_tests() if rule in test.rules]


def occurrences(mutant: Mutant) -> int:
    return (SOURCE / mutant.path).read_text(encoding="utf-8").count(mutant.text)


def run_tests(source: Path, tests: list[str], folder: Path) -> tuple[int, str]:
    """pytest's exit code on these tests with `ttl` taken from `source`, and its last lines."""
    environment = dict(os.environ, PYTHONPATH=str(source), PYTHONDONTWRITEBYTECODE="1")
    command = [
        sys.executable,
        "-P",
        "-m",
        "pytest",
        "-q",
        "-x",
        "--full",
        "-n0",
        "-p",
        "no:cacheprovider",
        "--timeout=60",
        f"--basetemp={folder / 'pytest'}",
        "-k",
        "simulated",
        *tests,
    ]
    ran = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stdout[-3000:] + ran.stderr[-1000:]


def outcome(mutant: Mutant) -> str:
    """The word `noticed`, or what is wrong."""
    if (count := occurrences(mutant)) != 1:
        return f"text found {count} times"
    with tempfile.TemporaryDirectory(prefix="ttl-mutant-") as name:
        folder = Path(name)
        source = folder / "src"
        shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__"))
        file = source / mutant.path
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace(mutant.text, mutant.replacement), encoding="utf-8")
        code, output = run_tests(source, node_ids_of(mutant.rule), folder)
    if code == TESTS_FAILED:
        return "noticed"
    return "SURVIVED" if code == 0 else f"pytest ended with {code}: {output.strip()[-300:]}"


def baseline(rules: list[str]) -> str | None:
    """What fails without any mutant."""
    tests = sorted({test for rule in rules for test in node_ids_of(rule)})
    with tempfile.TemporaryDirectory(prefix="ttl-baseline-") as name:
        folder = Path(name)
        source = folder / "src"
        shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__"))
        probe = "import pathlib, ttl; print(pathlib.Path(ttl.__file__).parents[1])"
        found = subprocess.run(
            [sys.executable, "-P", "-c", probe],
            cwd=ROOT,
            text=True,
            capture_output=True,
            env=dict(os.environ, PYTHONPATH=str(source)),
            check=True,
        ).stdout.strip()
        if Path(found).resolve() != source.resolve():
            return f"the copy is not what is tested: ttl comes from {found}"
        code, output = run_tests(source, tests, folder)
    return None if code == 0 else output


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rules", nargs="*", help="only mutants of these rules")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args(arguments)
    mutants = [m for m in MUTANTS if not given.rules or m.rule in given.rules]
    started = time.monotonic()
    if failed := baseline([mutant.rule for mutant in mutants]):
        print(f"the tests fail without a mutant:\n{failed}")
        return 1
    with ThreadPoolExecutor(given.jobs) as pool:
        outcomes = list(pool.map(outcome, mutants))
    for mutant, result in zip(mutants, outcomes, strict=True):
        print(f"{mutant.rule:28} {mutant.file:34} {result}")
    bad = sum(result != "noticed" for result in outcomes)
    seconds = time.monotonic() - started
    print(f"{len(mutants)} mutants, {len(mutants) - bad} noticed, {seconds:.0f} s")
    return 1 if bad or not mutants else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
