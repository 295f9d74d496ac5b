"""Verbs of `ttl`, in groups, and their text in `ttl --help`."""

from __future__ import annotations

GROUPS = {
    "write": {
        "examples": "copy the example programs to a folder",
        "explain": "explain a diagnostic code",
        "lsp": "start the language server, for editors",
    },
    "check": {
        "check": "look for mistakes before each operation is run",
        "explore": "run under many schedules and compare the results",
    },
    "run": {
        "run": "run a program: simulated, compiled, or on a device",
        "replay": "run a compiled operation from its folder",
        "run-flatbuffer": "run a .ttnn file on this machine",
        "run-metal": "run a .ttb file, a graph of ttir or threads of d2m",
    },
    "speed": {
        "estimate": "estimate how long operations take on a chip, and why",
        "tune": "find the configuration that takes the least time",
        "calibrate": "measure costs on a device, so that estimates fit it",
    },
    "look": {
        "view": "make a page about a run, a trace or a compiled operation",
        "lower": "make a page with Python, the IR of each stage and C++",
        "stats": "print tables of what a trace recorded",
        "diff": "find the first difference between two traces",
    },
    "deploy": {
        "compile": "write the operations of a program as C++ kernels",
    },
    "tools": {
        "doctor": "check the installation, say how to get what is missing",
        "cache": "show or limit the size of the cache of kernels",
        "completion": "print a script that completes commands in a shell",
        "opt": "run passes on IR text",
    },
}
VERBS = {verb: text for group in GROUPS.values() for verb, text in group.items()}

USAGE = "usage: ttl VERB [OPTION ...] [FILE] [ARGUMENT ...]"
MORE = """\
ttl VERB --help shows the options of a verb, ttl --version the version.
First steps: ttl examples, then ttl run ttl-examples/elementwise.py"""


def help_text() -> str:
    """Return the text of `ttl` and `ttl --help`: all verbs, on one screen."""
    column, width = (max(map(len, names)) + 2 for names in (GROUPS, VERBS))
    lines = [USAGE, "", "TT-Lang in Python: kernels, simulated, compiled and on devices."]
    for group, verbs in GROUPS.items():
        for number, (verb, text) in enumerate(verbs.items()):
            title = "" if number else group
            lines += [] if number else [""]
            lines.append(f"{title:<{column}}{verb:<{width}}{text}")
    return "\n".join([*lines, "", MORE])


def unknown_verb(verb: str) -> str:
    """Return a line about a first word that is no verb."""
    from ttl.diagnostics.names import near_names  # loads difflib

    kind = "option" if verb.startswith("-") else "verb"
    if verb.endswith(".py"):
        more = f"did you mean `ttl run {verb}`?"
    elif near := near_names(verb, [*VERBS, "--help", "--version"]):
        more = f"did you mean {' or '.join(near)}?"
    elif kind == "option":
        more = "options follow the verb, as in `ttl run --host FILE`"
    else:
        more = "did you mean `ttl run FILE`? `ttl --help` lists the verbs"
    return f"there is no {kind} `{verb}`; {more}"
