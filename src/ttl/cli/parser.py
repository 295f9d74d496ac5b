"""Parser of command lines that reports mistakes in two lines."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

WRONG_COMMAND = 2  # the exit status


class Parser(argparse.ArgumentParser):
    """Reports a mistake without a list of all options."""

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: error: {message}", file=sys.stderr)
        print(f"`{self.prog} --help` shows the options", file=sys.stderr)
        raise SystemExit(WRONG_COMMAND)
