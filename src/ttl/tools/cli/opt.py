"""ttl opt FILE.mlir -p 'pass-a,pass-b{x=1}'"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from ttl.diagnostics import RuleBroken, TTLError, UsageError, codes, file_not_usable, usage_error

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="IR text; - reads standard input")
    parser.add_argument("--list", action=_List, help="the passes and pipelines, with a line each")
    parser.add_argument(
        "-p", "--passes", default="", metavar="PIPELINE",
        help="passes in order, with options: 'pass-a,pass-b{x=1}'",
    )
    parser.add_argument(
        "--print-ir-after-all", action="store_true", help="the module after each pass, to stderr"
    )
    parser.add_argument(
        "--print-ir-after", action="append", default=[], metavar="PASS",
        help="the module after this pass, to stderr",
    )
    parser.add_argument(
        "--verify-each", action="store_true", help="verify the module after each pass"
    )
    parser.add_argument(
        "--time-passes", action="store_true", help="how long each pass took, to stderr"
    )
    parser.add_argument(
        "--flatbuffer", metavar="FILE.ttnn",
        help="write the module, lowered to ttnn, as a flatbuffer and not as text",
    )
    parser.add_argument("--json", action="store_true", help="diagnostics as JSON, one a line")


class _List(argparse.Action):
    """Needs no file, as --help does not."""

    def __init__(self, option_strings: list[str], dest: str, help: str):
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from ttl.passes import KNOWN
        from ttl.passes.pipelines import PIPELINES, summary_of

        for title, names in (("passes", KNOWN), ("pipelines", tuple(PIPELINES))):
            print(f"{title}:")
            for name in names:
                print(f"  {name:34} {summary_of(name)}")
        parser.exit()


def run(options: argparse.Namespace) -> int:
    from ttl.dialects import make_context, print_module
    from ttl.passes import run_passes

    passes = parse_passes(options.passes)
    _check_print_after(options.print_ir_after, [each.name for each in passes])
    context = make_context()
    module = read_file(options.file, context)

    running = ""
    times: list[tuple[str, float]] = []

    def before(name: str, module: ModuleOp) -> None:
        nonlocal running
        running = name
        times.append((name, perf_counter()))

    def after(name: str, module: ModuleOp) -> None:
        times[-1] = (name, perf_counter() - times[-1][1])
        if options.verify_each:
            _verify(module, options.file, name)
        if options.print_ir_after_all or name in options.print_ir_after:
            text = print_module(module)
            print(f"// -----// IR after {name} //----- //\n{text}", file=sys.stderr)

    try:
        run_passes(passes, context, module, before=before, after=after)
    except TTLError:
        raise
    except (Exception, RuleBroken) as error:
        raise _pass_failed(running, error) from error
    _verify(module, options.file)
    if options.flatbuffer:
        _write_flatbuffer(module, options.flatbuffer)
    else:
        print(print_module(module), end="")
    if options.time_passes:
        for name, seconds in (*times, ("total", sum(seconds for _, seconds in times))):
            print(f"{seconds * 1000:9.3f} ms  {name}", file=sys.stderr)
    return 0


def _write_flatbuffer(module: ModuleOp, file: str) -> None:
    from ttl.integrations.flatbuffer import emit_flatbuffer

    binary = emit_flatbuffer(module)
    try:
        Path(file).write_bytes(binary)
    except OSError as error:
        raise file_not_usable(file, error) from None


def _pass_failed(name: str, error: BaseException) -> UsageError:
    from ttl.passes import PIPELINE
    from ttl.passes.pipelines import D2M

    pipeline = (*D2M, *PIPELINE) if name in D2M else PIPELINE
    return usage_error(
        codes.PASS_FAILED,
        f"pass `{name}` cannot work on this IR: {type(error).__name__}: {error}",
        "run the passes that come before it first",
        notes=(f"the pipeline: {', '.join(pipeline)}",),
    )


def parse_passes(pipeline: str) -> list[ModulePass]:
    from xdsl.utils.arg_spec import parse_pipeline
    from xdsl.utils.exceptions import ArgSpecParseError

    from ttl.passes import find_pass, find_passes

    try:
        specs = list(parse_pipeline(pipeline))
    except ArgSpecParseError as error:
        raise _unknown_pass(f"the pipeline cannot be read: {error}") from None
    passes = []
    for spec in specs:
        try:
            if (names := find_passes(spec.name)) != (spec.name,):
                passes += [find_pass(name)() for name in names]
            else:
                passes.append(find_pass(spec.name).from_spec(spec))
        except KeyError:
            raise _unknown_pass(f"there is no pass `{spec.name}`", spec.name) from None
        except Exception as error:
            raise _unknown_pass(f"options of `{spec.name}`: {error}") from None
    return passes


def _check_print_after(wanted: list[str], running: list[str]) -> None:
    from ttl.passes import KNOWN

    for name in wanted:
        if name not in KNOWN:
            raise _unknown_pass(f"--print-ir-after: there is no pass `{name}`", name)
        if name not in running:
            raise _unknown_pass(f"--print-ir-after: pass `{name}` is not in the pipeline")


def _unknown_pass(message: str, name: str = "") -> UsageError:
    from difflib import get_close_matches

    from ttl.passes import KNOWN
    from ttl.passes.pipelines import PIPELINES

    near = get_close_matches(name, (*KNOWN, *PIPELINES), n=2)
    helps = (f"did you mean {' or '.join(near)}?",) if near else ()
    notes = (f"passes: {', '.join(KNOWN)}", f"pipelines: {', '.join(PIPELINES)}")
    return usage_error(codes.UNKNOWN_PASS, message, *helps, notes=notes)


def read_file(file: str, context: Context) -> ModuleOp:
    from ttl.dialects.reading import parse_module

    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except OSError as error:
        raise file_not_usable(file, error) from None
    except UnicodeDecodeError as error:
        message = f"{file}: not IR text: byte {error.start} is not {error.encoding.upper()}"
        raise usage_error(codes.IR_SYNTAX, message) from None
    module = parse_module(text, file, context)
    _verify(module, file)
    return module


def _verify(module: ModuleOp, file: str, after: str = "") -> None:
    from xdsl.utils.exceptions import VerifyException

    try:
        module.verify()
    except VerifyException as error:
        when = f" after {after}" if after else ""
        message = f"{file}: the IR does not verify{when}: {str(error).splitlines()[-1]}"
        raise usage_error(codes.IR_SYNTAX, message) from None
