"""Running a user's program as `python FILE` would."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from types import ModuleType

from ttl.diagnostics import RuleBroken, TTLError, UsageError, codes


def run_program(file: str, arguments: list[str], environment: dict[str, str]) -> int:
    """Execute FILE as __main__ with these variables set; its exit status."""
    try:
        source = Path(file).read_bytes()
    except OSError as error:
        broken = RuleBroken(codes.FILE_NOT_USABLE, f"{file}: {error.strerror}")
        raise UsageError(broken.at(None)) from None
    os.environ.update(environment)
    sys.argv = [file, *arguments]
    sys.path.insert(0, str(Path(file).resolve().parent))
    main = ModuleType("__main__")
    main.__file__ = file
    sys.modules["__main__"] = main
    try:
        exec(compile(source, file, "exec"), main.__dict__)
    except (TTLError, SystemExit):
        raise
    except BaseException as error:
        # From the user's first frame on: that exec is ours.
        following = error.__traceback__.tb_next if error.__traceback__ else None
        traceback.print_exception(type(error), error, following)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0
