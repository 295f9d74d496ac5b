"""ttl cache"""

from __future__ import annotations

import argparse
import time

from ttl.config import NO_LIMIT, Config, read_bytes
from ttl.diagnostics import UsageError, writing
from ttl.driver.cache import LIMIT_FILE, entries, is_operation, limit_of, prune
from ttl.driver.surroundings import refused_cache
from ttl.trace.stats import Table

from .terminal import show_tables

LIMIT = "limit"  # the default size of --prune


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Show how large the cache of compiled operations and kernels is. If it exceeds its limit, "
        "what was used longest ago is removed, once a day."
    )
    parser.add_argument(
        "--prune",
        nargs="?",
        const=LIMIT,
        type=_size,
        metavar="SIZE",
        help="remove what was used longest ago until SIZE is left, such as 100M (default: the "
        "limit)",
    )
    parser.add_argument(
        "--limit",
        type=_size,
        metavar="SIZE",
        help="what the cache may grow to from now on, such as 2G; none: no limit",
    )
    parser.add_argument("--clear", action="store_true", help="remove all of it")


def _size(text: str) -> str:
    try:
        _ = text == LIMIT or read_bytes(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size, as 512M or none") from None
    return text


def run(options: argparse.Namespace) -> int:
    config = Config.from_environment()
    if (refused := refused_cache(config)) is not None:
        raise UsageError(refused.as_error())
    if options.limit is not None:
        with writing(config.cache_dir):
            (config.cache_dir / LIMIT_FILE).write_text(f"{options.limit}\n")
    wanted = 0 if options.clear else _find_wanted(options.prune, config)
    if wanted is not None:
        done = prune(config.cache_dir, wanted, time.time())
        print(f"removed {_files(done.entries)}, {format_size(done.bytes)}")
        if done.kept:
            print(f"kept {_files(done.kept)} of the last hour: a process may be about to use them")
    show_tables([table_of(config)])
    return 0


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def _find_wanted(given: str | None, config: Config) -> int | None:
    """Return the size to keep; None to remove nothing."""
    if given is None:
        return None
    limit = limit_of(config) if given == LIMIT else read_bytes(given)
    return None if limit == NO_LIMIT else limit


def table_of(config: Config) -> Table:
    found = list(entries(config.cache_dir))
    limit = limit_of(config)
    rows = (
        ("folder", str(config.cache_dir)),
        ("compiled operations", str(sum(map(is_operation, found)))),
        ("libraries", str(sum(not is_operation(entry) for entry in found))),
        ("size", format_size(sum(entry.bytes for entry in found))),
        ("limit", "none" if limit == NO_LIMIT else format_size(limit)),
    )
    return Table("Cache of compiled operations", ("what", "now"), rows)


def format_size(count: int) -> str:
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
