"""Pages of the site that are made of the source when it is built: nothing is written down twice."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

import ttl
from docs_site.pages import DOCS
from ttl import config
from ttl.cli import main
from ttl.cli.verbs import VERBS
from ttl.diagnostics import codes

ROOMS = {
    "1": "Use of the language",
    "2": "Types and shapes",
    "3": "Blocks and transfers",
    "4": "Limits",
    "5": "Running kernels",
    "6": "Machine and tools",
    "7": "Compiling",
    "8": "IR tools",
    "9": "Faults in pyttlang",
}
# What the public names are for; a name that is in no group is at the end.
GROUPS = {
    "Operations and kernels": (
        "operation",
        "Operation",
        "compute",
        "datamovement",
        "grid_size",
        "node",
        "Program",
    ),
    "Buffers and blocks": (
        "make_dataflow_buffer_like",
        "make_tensor_backed_dfb",
        "DataflowBuffer",
        "Block",
        "BlockExpression",
    ),
    "Copies": ("copy", "Transfer", "GroupTransfer", "raw_element_read", "raw_element_write"),
    "Nodes": (
        "Pipe",
        "PipeNet",
        "SrcPipeIdentity",
        "DstPipeIdentity",
        "Semaphore",
        "UnicastRemoteSemaphore",
        "MulticastRemoteSemaphore",
    ),
    "Tuning": ("autotune", "Config", "choice", "powers_of_two"),
    "Arrays": ("from_numpy", "to_numpy"),
    "Debugging": ("signpost", "print"),
    "Errors": ("TTLError", "CompileError", "KernelFault", "UsageError", "InternalError"),
}
ENVIRONMENT = """# Environment variables

Every variable that pyttlang reads, from `src/ttl/config.py`. A flag is on unless it is empty, `0`,
`false`, `no` or `off`. Options of the command line win over variables.

| variable | default | what it does |
|---|---|---|"""
# Those that are no options of a run.
OTHER_VARIABLES = {
    "PYTTLANG_CACHE": "the folder of compiled kernels and other results; `~/.cache/pyttlang`",
    "XDG_CACHE_HOME": "where the folder `pyttlang` is, if `PYTTLANG_CACHE` is not set",
    "PYTTL_CACHE": "the earlier name of `PYTTLANG_CACHE`; `PYTTL_CACHE_LIMIT` likewise",
    "CXX": "the C++ compiler; without it c++, g++, clang++ or the wheel `ziglang`",
    "PATH": "where compilers and browsers are looked for",
    "TTL_DEBUG": "tracebacks show the frames of pyttlang, too",
    "NO_COLOR": "no colours, though it is a terminal",
    "FORCE_COLOR": "colours, though it is no terminal",
    "TT_METAL_CACHE": "the cache of tt-metal, at which `ttl doctor` looks",
    "DISPLAY": "where `ttl view` can open a browser; also `WAYLAND_DISPLAY`",
}
DIAGNOSTICS = """# Diagnostics

What each code means, in a sentence. Its page has wrong programs, what they get, and the programs
put right; `ttl explain CODE` prints it, with `--all` the long ones in full."""
API = """# API

What `import ttl` brings. Functions on blocks, `ttl.math` and `ttl.block`, are in the table of
[operators](operators.md); the stand-in for ttnn has [a page](ttnn.md) of its own.
"""


def environment_page() -> str:
    lines = [ENVIRONMENT]
    texts = comments_of(inspect.getsource(config.Config))
    for variable, option in config.OPTIONS.items():
        has_default = option.default not in (None, False, config.NO_CHOICE)
        shown = f"`{option.default}`" if has_default else ""
        lines.append(f"| `{variable}` | {shown} | {_cell(texts[option.name])} |")
    lines += [f"| `{name}` | | {text} |" for name, text in OTHER_VARIABLES.items()]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    begins_a_sentence = text[1:2].islower()
    first = text[:1].lower() if begins_a_sentence else text[:1]
    return f"{first}{text[1:]}".replace("|", "\\|").rstrip(".")


def comments_of(source: str) -> dict[str, str]:
    """The comment of each field of a class: on its line, or on the lines above it."""
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT and "noqa" not in token.string[:7]
    }
    (tree,) = ast.parse(source).body
    found = {}
    for field in ast.iter_child_nodes(tree):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        own = comments.get(field.end_lineno or 0, "").split("# noqa")[0].strip()
        above = field.lineno
        while above - 1 in comments and not _has_code(source, above - 1):
            above -= 1
        before = " ".join(comments[n] for n in range(above, field.lineno))
        found[field.target.id] = before if not own or own.startswith("noqa") else own
    return found


def _has_code(source: str, line: int) -> bool:
    return not source.splitlines()[line - 1].lstrip().startswith("#")


def command_line_page() -> str:
    parts = ["# Command line\n", "`ttl VERB --help` prints what stands here.\n"]
    parts += ["| verb | what it does |\n|---|---|"]
    parts += [f"| [`ttl {verb}`](#ttl-{verb}) | {text} |" for verb, text in VERBS.items()]
    parts += [f"\n## ttl {verb}\n\n```\n{help_of(verb)}```" for verb in VERBS]
    return "\n".join(parts) + "\n"


def help_of(verb: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main([verb, "--help"])
    return re.sub(r"\x1b\[[0-9;]*m", "", printed.getvalue())


def diagnostics_page() -> str:
    lines = [DIAGNOSTICS]
    room = ""
    for code, entry in sorted(codes.CATALOGUE.items()):
        if code[3] != room:
            room = code[3]
            lines += ["", f"## {ROOMS[room]}", "", "| code | name | |", "|---|---|---|"]
        has_page = (DOCS / "reference" / "diagnostics" / f"{code}.md").exists()
        shown = f"[{code}](diagnostics/{code}.md)" if has_page else code
        lines.append(f"| {shown} | {entry.slug} | {_cell_of(first_sentence(entry.explanation))} |")
    return "\n".join(lines) + "\n"


def first_sentence(text: str) -> str:
    found = re.match(r".*?[.!?](?= [A-Z`]|$)", text, re.DOTALL)
    return found[0] if found else text


def _cell_of(text: str) -> str:
    return text.replace("|", "\\|")


def decisions_page() -> str:
    lines = ["# Decisions", "", "Why things are as they are, one page each.", ""]
    for path in sorted((DOCS / "decisions").glob("[0-9]*.md")):
        lines.append(f"1. [{title_of(path)}]({path.name})")
    return "\n".join(lines) + "\n"


def title_of(path: Path) -> str:
    """The heading of a page, without its number."""
    heading = path.read_text(encoding="utf-8").partition("\n")[0]
    return re.sub(r"^#\s*(\d+[.:]?\s+)?", "", heading).strip()


def api_page() -> str:
    lines = [API]
    for group, names in grouped_names():
        lines += [f"## {group}", ""]
        for name in names:
            lines += _documented(name)
    return "\n".join(lines) + "\n"


def grouped_names() -> Iterator[tuple[str, list[str]]]:
    public = set(ttl.__all__)
    for group, names in GROUPS.items():
        yield group, [name for name in names if name in public]
    used = {name for names in GROUPS.values() for name in names}
    yield "Other names", sorted(public - used - {"math", "block"})


def _documented(name: str) -> Iterable[str]:
    value = getattr(ttl, name)
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        return [f"### ttl.{name}", "", f"`{value!r}`"[:120], ""]
    path = f"{value.__module__}.{value.__qualname__}"
    return [f"::: {path}", "    options:", f"      heading: ttl.{name}", ""]


PAGES = {
    "reference/environment.md": environment_page,
    "reference/command-line.md": command_line_page,
    "reference/diagnostics.md": diagnostics_page,
    "reference/api.md": api_page,
    "decisions/index.md": decisions_page,
}
