"""The parser of a command line, which answers mistakes in two lines."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

WRONG_COMMAND = 2  # the exit status


class Parser(argparse.ArgumentParser):
    """Does not show all options to somebody who mistook one."""

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: error: {message}", file=sys.stderr)
        print(f"`{self.prog} --help` shows the options", file=sys.stderr)
        raise SystemExit(WRONG_COMMAND)
