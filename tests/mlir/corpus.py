"""How much of a folder of .mlir files is read, printed again and taken by passes.

    python tests/mlir/corpus.py FOLDER [--run] [--passes 'a,b'] [--by folder] [--list CAUSE]

Files are split at `// -----`. A section parses if it is read and verifies, and round-trips if what
is printed of it is read as the same. One that marks an error it expects (`expected-error`, or
`CHECK: error:`) is counted apart: to refuse it is right, to read it no fault. Nothing of such files
is in the project.

With --run each section that parses is run: graphs by the ttnn runtime on random numbers, threads
and kernels up to their C++. It runs, or a diagnostic names what is missing; all else is a FAULT.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from ttgraph.cli.opt import apply_passes
from ttgraph.cli.opt_options import SEPARATOR
from ttgraph.dialects import make_context
from ttgraph.flatbuffer import Runtime, compile_module
from ttgraph.flatbuffer.program import GraphProgram
from ttl.diagnostics import RuleBroken, TTLError
from ttl.dialects import print_module
from ttl.dialects.reading import parse_module

DIALECTS = "ttir|ttnn|d2m|ttkernel|ttmetal|stablehlo|emitc|emitpy|tosa"
OPERATION = re.compile(rf'(?:^|=)\s*"?({DIALECTS})\.')
COMMENT = re.compile(r"//[^\n]*")
ERROR_CHECK = re.compile(r"//\s*\w*CHECK[\w-]*:\s*(?:.*\.mlir.*)?error:")
# What `ttl opt` makes of an exception that no pass foresees.
UNFORESEEN = re.compile(r"cannot work on this IR: \w*(Error|Exception)\b")
# What takes a section to C++, by its dialect; others are graphs.
TO_CPP = {"d2m": "ttir-to-ttmetal-backend", "ttkernel": "convert-ttkernel-to-emitc"}
MOST_ELEMENTS = 1 << 23  # of a program that is run; larger ones are compiled only


@dataclass(frozen=True, slots=True)
class Section:
    file: Path
    number: int
    text: str

    @property
    def is_negative(self) -> bool:
        return "expected-error" in self.text or ERROR_CHECK.search(self.text) is not None

    @property
    def dialect(self) -> str:
        """Whose operations it has most of."""
        found = Counter(OPERATION.findall(COMMENT.sub("", self.text).replace("\n", "\n=")))
        return found.most_common(1)[0][0] if found else "others"


def sections(folder: Path) -> Iterator[Section]:
    for file in sorted(folder.rglob("*.mlir")) if folder.is_dir() else [folder]:
        for number, text in enumerate(SEPARATOR.split(file.read_text("utf-8", "replace"))):
            if COMMENT.sub("", text).strip():
                yield Section(file, number, text)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How far a section came: none, parses, round-trips, passes; and why not further."""

    stage: str
    cause: str = ""


def outcome(section: Section, passes: str = "", is_run: bool = False) -> Outcome:
    try:
        module = read(section)
    except (TTLError, VerifyException) as error:
        return Outcome("none", cause(error))
    except Exception as error:  # a fault of ours: it is counted with its name
        return Outcome("none", f"FAULT {type(error).__name__}: {error}"[:90])
    try:
        printed = print_module(module)
        again = print_module(read(Section(section.file, section.number, printed)))
    except (TTLError, VerifyException) as error:
        return Outcome("parses", f"printed: {cause(error)}")
    except Exception as error:
        return Outcome("parses", f"FAULT {type(error).__name__}: {error}"[:90])
    if printed != again:
        return Outcome("parses", "printed: differs")
    if is_run:
        return Outcome("round-trips", why_not_run(section, module))
    return Outcome("round-trips", run(passes, module)) if passes else Outcome("round-trips")


def read(section: Section) -> ModuleOp:
    module = parse_module(section.text, f"{section.file.name}#{section.number}", make_context())
    module.verify()
    return module


def run(passes: str, module: ModuleOp) -> str:
    """Why the passes do not take it, or nothing."""
    return _why_not("passes", lambda: _apply(passes, module))


def why_not_run(section: Section, module: ModuleOp) -> str:
    """What is missing, or nothing."""
    passes = TO_CPP.get(section.dialect)
    if passes is not None:
        return _why_not("run", lambda: _apply(passes, module))
    return _why_not("run", lambda: _run_graph(module))


def _why_not(step: str, action: Callable[[], None]) -> str:
    try:
        action()
    except (TTLError, VerifyException) as error:
        return f"{'FAULT' if UNFORESEEN.search(str(error)) else step}: {cause(error)}"
    except (Exception, RuleBroken) as error:  # a fault of ours: it is counted with its name
        return f"FAULT {type(error).__name__}: {error}"[:90]
    return ""


def _apply(passes: str, module: ModuleOp) -> None:
    apply_passes(passes, make_context(), module, None)
    module.verify()


def _run_graph(module: ModuleOp) -> None:
    """A file may have several modules."""
    parts = [op for op in module.ops if isinstance(op, ModuleOp)]
    for part in parts if len(parts) > 1 else [module]:
        runtime = Runtime(compile_module(part))
        for number, program in enumerate(runtime.programs):
            if sum(prod(tensor.shape) for tensor in program.tensors.values()) <= MOST_ELEMENTS:
                runtime.run(_inputs(program), program=number)


def _inputs(program: GraphProgram) -> list[np.ndarray]:
    """Numbers from 0 to 1: places and truths among them are in range."""
    rng = np.random.default_rng(1)
    given = program.described(program.inputs)
    return [rng.uniform(0, 1, each.shape).astype(each.dtype.storage) for each in given]


def cause(error: BaseException) -> str:
    """One line for all errors of a kind: without names, numbers and types."""
    if isinstance(error, TTLError):
        message = error.diagnostics[0].message
    else:
        message = str(error).strip().splitlines()[-1]
    return re.sub(r"\d+", "N", message)[:110]


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    causes: dict[str, Counter[str]] = defaultdict(Counter)
    for section in sections(options.folder):
        found = outcome(section, options.passes, options.run)
        group = section.dialect if options.by == "dialect" else _folder(section, options.folder)
        groups[group]["negative" if section.is_negative else "sections"] += 1
        groups[group]["fault"] += found.cause.startswith("FAULT")
        if section.is_negative:
            groups[group]["refused"] += bool(found.cause)
        else:
            groups[group]["parse"] += found.stage != "none"
            groups[group]["round-trip"] += found.stage == "round-trips"
            groups[group]["pass"] += found.stage == "round-trips" and not found.cause
            groups[group]["named"] += found.cause.startswith("run: ")
        if found.cause and (not section.is_negative or found.cause.startswith("FAULT")):
            causes[group][found.cause] += 1
            if options.list and options.list in found.cause:
                print(f"{section.file}#{section.number}: {found.cause}")
    _report(groups, causes, options)
    return 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--passes", default="", help="as after `ttl opt -p`")
    parser.add_argument("--run", action="store_true", help="run what parses")
    parser.add_argument("--by", choices=("dialect", "folder"), default="dialect")
    parser.add_argument("--list", default="", metavar="CAUSE", help="sections with this cause")
    parser.add_argument("--causes", type=int, default=10, help="how many of each group")
    return parser.parse_args(arguments)


def _folder(section: Section, root: Path) -> str:
    return section.file.relative_to(root).parts[0] if section.file != root else section.file.name


def _report(
    groups: dict[str, Counter[str]],
    causes: dict[str, Counter[str]],
    options: argparse.Namespace,
) -> None:
    columns = ["sections", "parse", "round-trip"]
    columns += ["pass", "named", "fault"] if options.run else ["pass"] if options.passes else []
    print(f"{'':24}" + "".join(f"{each:>12}" for each in (*columns, "negative", "refused")))
    for group, found in sorted(groups.items()):
        row = "".join(f"{found[each]:>12}" for each in (*columns, "negative", "refused"))
        share = 100 * found["round-trip"] / max(1, found["sections"])
        print(f"{group:24}{row}   {share:5.1f} %")
    for group, counted in sorted(causes.items()):
        print(f"\n{group}:")
        for each, count in counted.most_common(options.causes):
            print(f"{count:6}  {each}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
