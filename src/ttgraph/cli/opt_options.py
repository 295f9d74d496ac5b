"""mlir-opt's options for `ttl opt`: passes as options, sections, expected diagnostics."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ttl.diagnostics import TTLError, codes, usage_error

if TYPE_CHECKING:
    from ttl.diagnostics import Diagnostic

SEPARATOR = re.compile(r"^// -----[ \t]*$", re.MULTILINE)
_PIPELINE = re.compile(r"^builtin\.module\((.*)\)$", re.DOTALL)


def join_passes(parser: argparse.ArgumentParser, given: Sequence[str]) -> list[str]:
    """Join `--pass-a`, `-pass-b` and `--pass-c='x=1'` of a command line into one `--passes`.

    What is neither a pass nor an option is left: argparse names it.
    """
    from ttgraph.passes.pipelines import KNOWN, PIPELINES

    left: list[str] = []
    passes: list[str] = []
    own = parser._option_string_actions
    for word in given:
        name, equals, options = word.lstrip("-").partition("=")
        if name == "pass-pipeline" and equals:
            found = _PIPELINE.match(options)
            passes.append(found[1] if found else options)
        elif word.startswith("-") and f"--{name}" not in own and name in (*KNOWN, *PIPELINES):
            passes.append(f"{name}{{{options.strip('{}')}}}" if options else name)
        elif f"--{name}" in own and not word.startswith("--"):  # LLVM's tools take one dash, too
            left.append(f"-{word}")
        else:
            left.append(word)
    return [*left, "--passes", ",".join(passes)] if passes else left


def sections_of(text: str, is_split: bool) -> list[str]:
    """Split at lines `// -----`; each part keeps its line numbers, so that errors do, too."""
    if not is_split:
        return [text]
    parts, line = [], 0
    for part in SEPARATOR.split(text):
        parts.append("\n" * line + part)
        line += part.count("\n")
    return parts


_EXPECTED = re.compile(
    r"//\s*expected-(?P<kind>error|warning|note|remark)(?:\s*@(?P<at>[+-]\d+|above|below|unknown))?"
    r"\s*\{\{(?P<text>.*?)\}\}"
)
_RELATIVE = {"above": -1, "below": 1}


def check_expected(text: str, found: Sequence[Diagnostic]) -> None:
    """Raise TTLError if an expected error is missing, or if one is found that is not expected."""
    left = [each for each in found if each.severity.value == "error"]
    for number, line in enumerate(text.splitlines(), 1):
        for match in _EXPECTED.finditer(line):
            if match["kind"] != "error":
                continue
            fits = [each for each in left if _is_match(each, match, number)]
            if not fits:
                message = f"line {number}: the expected error «{match['text']}» was not reported"
                raise usage_error(codes.IR_SYNTAX, message)
            left.remove(fits[0])
    if left:
        raise TTLError(*left)


def _is_match(diagnostic: Diagnostic, match: re.Match[str], line: int) -> bool:
    if match["text"] not in diagnostic.message:
        return False
    at = match["at"]
    if at == "unknown" or diagnostic.primary is None:
        return True
    wanted = line + (_RELATIVE.get(at) or int(at) if at else 0)
    return diagnostic.primary.span.line == wanted
