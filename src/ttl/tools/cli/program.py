"""Running a user's program as `python FILE` would."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType

from ttl.diagnostics import TTLError, file_not_usable
from ttl.diagnostics.frames import user_traceback


def add_program_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--strict", action="store_true", help="releases and waits that are left out are errors"
    )
    parser.add_argument("--json", action="store_true", help="diagnostics as JSON, one a line")
    parser.add_argument("file", metavar="FILE", help="the program")
    parser.add_argument(
        "arguments", metavar="...", nargs="*", help="its arguments; after -- all are its own"
    )


def program_environment(options: argparse.Namespace) -> dict[str, str]:
    """What the options above say to the driver."""
    chosen = {"TTL_STRICT": options.strict, "TTL_JSON": options.json}
    return {variable: "1" for variable, is_chosen in chosen.items() if is_chosen}


def program_arguments_last(parser: argparse.ArgumentParser, given: list[str]) -> list[str]:
    """The command line with our options first, then FILE, -- and the program's arguments.

    Our options may stand before or behind FILE; whatever else stands behind it is the program's.
    """
    ours: list[str] = []
    theirs: list[str] = []
    tokens = iter(given)
    for token in tokens:
        action = parser._option_string_actions.get(token.split("=")[0])
        if token == "--":
            theirs += tokens
        elif action is None:
            theirs.append(token)
        else:
            ours.append(token)
            if action.nargs is None and "=" not in token:  # it takes a value
                ours += [value for value in [next(tokens, None)] if value is not None]
    return [*ours, "--", *theirs] if theirs else ours


def run_program(file: str, arguments: list[str], environment: dict[str, str]) -> int:
    """Execute FILE as __main__ with these variables set; its exit status.

    Diagnostics, exits and interrupts pass through to whoever runs the verb.
    """
    try:
        source = Path(file).read_bytes()
    except OSError as error:
        raise file_not_usable(file, error) from None
    os.environ.update(environment)
    sys.argv = [file, *arguments]
    sys.path.insert(0, str(Path(file).resolve().parent))
    main = ModuleType("__main__")
    main.__file__ = file
    sys.modules["__main__"] = main
    try:
        exec(compile(source, file, "exec"), main.__dict__)
    except (TTLError, SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        traceback.print_exception(error.with_traceback(user_traceback(error.__traceback__)))
        return 1
    return 0
