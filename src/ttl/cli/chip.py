"""Options that choose the chip: one group, the same for every verb that runs a program."""

from __future__ import annotations

import argparse

from ttl.config import read_grid, read_target, target_list
from ttl.target import CHOICES


def add_chip_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("chip")
    group.add_argument(
        "--target",
        type=read_choice,
        choices=CHOICES,
        metavar="NAME",
        help=f"{target_list()}; wh and bh for short (default: TTL_TARGET, or {CHOICES[0]})",
    )
    group.add_argument(
        "--grid",
        type=_grid,
        metavar="R,C",
        help='the rows and columns of "auto" and "full" grids, also more than the chip has',
    )


def chip_variables(options: argparse.Namespace) -> dict[str, str]:
    """Return the options above as variables of ttl.config."""
    chosen = {"TTL_TARGET": options.target, "TTL_GRID": options.grid}
    return {variable: text for variable, text in chosen.items() if text is not None}


def chip_words(options: argparse.Namespace) -> list[str]:
    """Return the options as words of a command line."""
    chosen = {"--target": options.target, "--grid": options.grid}
    return [word for name, text in chosen.items() if text is not None for word in (name, text)]


def read_choice(text: str) -> str:
    """Read one of CHOICES, or an alias."""
    try:
        return read_target(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from None


def _grid(text: str) -> str:
    try:
        read_grid(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not ROWS,COLUMNS, as in 8,8") from None
    return text
