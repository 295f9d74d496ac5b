"""ttl opt FILE.mlir -p 'pass-a,pass-b{x=1}', or ttlang-opt --pass-a --pass-b=x=1 FILE.mlir"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ttl.config import Config
from ttl.diagnostics import RuleBroken, TTLError, UsageError, codes, reading, usage_error, writing

from .opt_options import check_expected, sections_of
from .opt_options import join_passes as join_passes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from ttl.diagnostics import Diagnostic
    from ttl.passes.pipelines import Observer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="IR text; - reads standard input")
    parser.add_argument("--list", action=_List, help="the passes and pipelines, with a line each")
    parser.add_argument(
        "-p",
        "--passes",
        default="",
        metavar="PIPELINE",
        help="passes in order, with options: 'pass-a,pass-b{x=1}'",
    )
    _add_printing(parser)
    parser.add_argument("-o", dest="output", metavar="FILE", help="write there, not to stdout")
    parser.add_argument(
        "--split-input-file", action="store_true", help="parts between `// -----` on their own"
    )
    parser.add_argument(
        "--verify-diagnostics",
        action="store_true",
        help="errors are those that the text expects: `// expected-error {{...}}`",
    )
    parser.add_argument(
        "--allow-unregistered-dialect",
        action="store_true",
        help="keep operations and attributes of any dialect as they stand",
    )
    parser.add_argument(
        "--verify-each", action="store_true", help="verify the module after each pass"
    )
    parser.add_argument(
        "--time-passes", action="store_true", help="how long each pass took, to stderr"
    )
    parser.add_argument(
        "--flatbuffer",
        metavar="FILE.ttnn",
        help="write the module, lowered to ttnn, as a flatbuffer and not as text",
    )
    parser.add_argument(
        "--ttmetal-to-flatbuffer-bin",
        "--ttmetal-to-flatbuffer",
        action="store_true",
        help="write the module, lowered to commands of ttmetal, as a flatbuffer: -o FILE.ttb",
    )
    parser.add_argument("--json", action="store_true", help="diagnostics as JSON, one a line")


def _add_printing(parser: argparse.ArgumentParser) -> None:
    """Add options under the names of mlir-opt, and shorter ones."""
    for when in ("before", "after"):
        parser.add_argument(
            f"--print-ir-{when}-all",
            f"--mlir-print-ir-{when}-all",
            action="store_true",
            help=f"the module {when} each pass, to stderr",
        )
        parser.add_argument(
            f"--print-ir-{when}",
            f"--mlir-print-ir-{when}",
            action="append",
            default=[],
            metavar="PASS",
            help=f"the module {when} this pass, to stderr",
        )
    parser.add_argument(
        "--print-ir-after-failure",
        "--mlir-print-ir-after-failure",
        action="store_true",
        help="the module that a pass cannot work on, to stderr",
    )
    parser.add_argument(
        "--mlir-print-op-generic", action="store_true", help="print MLIR's generic form"
    )


class _List(argparse.Action):
    """Option that needs no file, like --help."""

    def __init__(self, option_strings: list[str], dest: str, help: str):
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from ttgraph.passes.pipelines import KNOWN, PIPELINES, summary_of

        for title, names in (("passes", KNOWN), ("pipelines", tuple(PIPELINES))):
            print(f"{title}:")
            for name in names:
                print(f"  {name:34} {summary_of(name)}")
        parser.exit()


def run(options: argparse.Namespace) -> int:
    system = Config.from_environment().system_desc_path
    passes = for_device(parse_passes(options.passes), system)
    _check_names(options, [each.name for each in passes])
    file = options.file
    printed: list[str | bytes] = []
    for text in sections_of(read_text(file), options.split_input_file):
        found: Sequence[Diagnostic] = ()
        try:
            printed.append(_Run(options, passes).section(text))
        except TTLError as error:
            if not options.verify_diagnostics:
                raise
            found = error.diagnostics
        if options.verify_diagnostics:
            check_expected(text, found)
    if options.ttmetal_to_flatbuffer_bin:
        _write(b"".join(each for each in printed if isinstance(each, bytes)), options.output)
    elif not options.flatbuffer:
        _write("\n// -----\n".join(map(str, printed)), options.output)
    return 0


def _write(data: str | bytes, file: str | None) -> None:
    if file is None or file == "-":
        if isinstance(data, str):
            print(data, end="")
        else:
            sys.stdout.buffer.write(data)
        return
    with writing(file):
        Path(file).write_bytes(data.encode() if isinstance(data, str) else data)


class _Run:
    """Runs passes on one part of a file."""

    def __init__(self, options: argparse.Namespace, passes: list[ModulePass]):
        self.options, self.passes = options, passes
        self.times: list[tuple[str, float]] = []

    def section(self, text: str) -> str | bytes:
        """Run the passes on a part's text and return the output."""
        from ttgraph.dialects import make_context
        from ttl.dialects import print_module

        options, context = self.options, make_context()
        context.allow_unregistered = options.allow_unregistered_dialect
        module = read_module(text, options.file, context)
        self._transform(context, module)
        _verify(module, options.file)
        if options.time_passes:
            self._print_times()
        if options.flatbuffer:
            from ttgraph.flatbuffer import emit_flatbuffer

            _write(emit_flatbuffer(module), options.flatbuffer)
            return ""
        if options.ttmetal_to_flatbuffer_bin:
            from ttgraph.flatbuffer import emit_metal

            return emit_metal(module)
        return print_module(module, options.mlir_print_op_generic)

    def _transform(self, context: Context, module: ModuleOp) -> None:
        try:
            _run(self.passes, context, module, self._before, self._after)
        except TTLError:
            if self.options.print_ir_after_failure:
                _show(f"after {self.times[-1][0]} failed", module)
            raise

    def _before(self, name: str, module: ModuleOp) -> None:
        if self.options.print_ir_before_all or name in self.options.print_ir_before:
            _show(f"before {name}", module)
        self.times.append((name, perf_counter()))

    def _after(self, name: str, module: ModuleOp) -> None:
        self.times[-1] = (name, perf_counter() - self.times[-1][1])
        if self.options.verify_each:
            _verify(module, self.options.file, name)
        if self.options.print_ir_after_all or name in self.options.print_ir_after:
            _show(f"after {name}", module)

    def _print_times(self) -> None:
        total = sum(seconds for _, seconds in self.times)
        for name, seconds in (*self.times, ("total", total)):
            print(f"{seconds * 1000:9.3f} ms  {name}", file=sys.stderr)


def apply_passes(
    pipeline: str, context: Context, module: ModuleOp, system_desc_path: str | None
) -> None:
    """As a command line has them."""
    _run(for_device(parse_passes(pipeline), system_desc_path), context, module)


def _run(
    passes: list[ModulePass],
    context: Context,
    module: ModuleOp,
    before: Observer | None = None,
    after: Observer | None = None,
) -> None:
    from ttgraph.passes import run_passes
    from ttgraph.passes.pipelines import OF_WHOLE_PROGRAMS

    running = ""

    def begin(name: str, module: ModuleOp) -> None:
        nonlocal running
        running = name
        if before is not None:
            before(name, module)
        if name in OF_WHOLE_PROGRAMS and (kept := _find_kept(module, "d2m.")):
            raise _not_computed(name, kept)

    try:
        run_passes(passes, context, module, begin, after)
    except (Exception, RuleBroken) as error:
        if isinstance(error, TTLError):
            raise
        raise _pass_failed(running, module, error) from error


def _show(when: str, module: ModuleOp) -> None:
    from ttl.dialects import print_module

    print(f"// -----// IR {when} //----- //\n{print_module(module)}", file=sys.stderr)


def _find_kept(module: ModuleOp, prefix: str) -> list[str]:
    """Find operations with this prefix that are kept unmodified: nothing here computes them."""
    from ttl.dialects.foreign.kept import KeptOp
    from ttl.passes.registered_device import DEVICE

    found = (op.name for op in module.walk() if isinstance(op, KeptOp))
    return sorted({name for name in found if name.startswith(prefix) and name != DEVICE})


def _not_computed(name: str, kept: list[str]) -> UsageError:
    message = f"pass `{name}` cannot work on this IR: it does not compute {', '.join(kept)}"
    return usage_error(codes.PASS_FAILED, message)


def _pass_failed(name: str, module: ModuleOp, error: BaseException) -> UsageError:
    """Make the error for an exception that a pass did not foresee."""
    from pykernel.passes.pipelines import D2M
    from ttl.passes import PIPELINE

    if kept := _find_kept(module, ""):
        return _not_computed(name, kept)
    pipeline = (*D2M, *PIPELINE) if name in D2M else PIPELINE
    why = f": {type(error).__name__}: {error}"
    if isinstance(error, KeyError):
        why = f": `{error.args[0]}` is missing" if error.args[0] else ""
    return usage_error(
        codes.PASS_FAILED,
        f"pass `{name}` cannot work on this IR{why}",
        "run the passes that come before it first",
        notes=(f"the pipeline: {', '.join(pipeline)}",),
    )


# xDSL takes paths in quotes, which MLIR's tools do not write.
_PATH = re.compile(r"""(?<==)([^\s{}"',=]*[/~][^\s{}"',=]*)""")


def parse_passes(pipeline: str) -> list[ModulePass]:
    from xdsl.utils.arg_spec import parse_pipeline
    from xdsl.utils.exceptions import ArgSpecParseError

    from ttgraph.passes import find_pass
    from ttgraph.passes.pipelines import find_passes, make_passes

    try:
        specs = list(parse_pipeline(_PATH.sub(r'"\1"', pipeline)))
    except ArgSpecParseError as error:
        raise _unknown_pass(f"the pipeline cannot be read: {error}") from None
    passes = []
    for spec in specs:
        try:
            if (names := find_passes(spec.name)) != (spec.name,):
                passes += make_passes(names, spec.normalize_parameter_names().parameters)
            else:
                passes.append(find_pass(spec.name).from_spec(spec))
        except KeyError:
            raise _unknown_pass(f"there is no pass `{spec.name}`", spec.name) from None
        except Exception as error:
            raise _unknown_pass(f"options of `{spec.name}`: {error}") from None
    return passes


def for_device(passes: list[ModulePass], path: str | None) -> list[ModulePass]:
    """The device of SYSTEM_DESC_PATH, for the pass that registers one and was not given a file."""
    from dataclasses import replace

    from pykernel.passes.pipelines import REGISTER_DEVICE
    from ttgraph.passes import find_pass

    kind: Any = find_pass(*REGISTER_DEVICE)
    return [
        replace(each, system_desc_path=path)
        if path and isinstance(each, kind) and not each.system_desc_path
        else each
        for each in passes
    ]


def _check_names(options: argparse.Namespace, running: list[str]) -> None:
    from ttgraph.passes.pipelines import KNOWN

    for option in ("print_ir_after", "print_ir_before"):
        shown = f"--{option.replace('_', '-')}"
        for name in getattr(options, option):
            if name not in KNOWN:
                raise _unknown_pass(f"{shown}: there is no pass `{name}`", name)
            if name not in running:
                raise _unknown_pass(f"{shown}: pass `{name}` is not in the pipeline")


def _unknown_pass(message: str, name: str = "") -> UsageError:
    from difflib import get_close_matches

    from ttgraph.passes.pipelines import KNOWN, PIPELINES

    near = get_close_matches(name, (*KNOWN, *PIPELINES), n=2)
    helps = (f"did you mean {' or '.join(near)}?",) if near else ()
    notes = (f"passes: {', '.join(KNOWN)}", f"pipelines: {', '.join(PIPELINES)}")
    return usage_error(codes.UNKNOWN_PASS, message, *helps, notes=notes)


def read_text(file: str) -> str:
    try:
        with reading(file):
            return sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except UnicodeDecodeError as error:
        message = f"{file}: not IR text: byte {error.start} is not {error.encoding.upper()}"
        raise usage_error(codes.IR_SYNTAX, message) from None


def read_module(text: str, file: str, context: Context) -> ModuleOp:
    from ttl.dialects.reading import parse_module

    module = parse_module(text, file, context)
    _verify(module, file)
    return module


def _verify(module: ModuleOp, file: str, after: str = "") -> None:
    from ttl.dialects.reading import verify_module

    when = f" after {after}" if after else ""
    verify_module(module, f"{file}: the IR does not verify{when}")
