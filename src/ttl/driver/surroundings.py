"""Notes about what a process runs in: names of variables, and the cache folder."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ttl.config import Config, old_variables
from ttl.diagnostics import Diagnostic, codes
from ttl.loading.cache_folder import known_refusal


def surroundings(config: Config) -> Iterator[Diagnostic]:
    yield from _old_variables()
    if (found := refused_cache(config)) is not None:
        yield found


def _old_variables() -> Iterator[Diagnostic]:
    if renamed := old_variables():
        yield Diagnostic(
            codes.OLD_VARIABLE,
            " and ".join(f"{old} is now {now}" for old, now in renamed.items()),
            helps=tuple(map(rename_command, renamed)),
            facts={"renamed": renamed},
        )


def rename_command(old: str) -> str:
    """What to type so that only the present name is set."""
    now = old_variables()[old]
    return f"unset {old}" if os.environ.get(now) else f'export {now}="${old}"; unset {old}'


def refused_cache(config: Config) -> Diagnostic | None:
    """Why nothing is kept in the cache folder, and what to type; None if it is used."""
    refusal = known_refusal(config.cache_folder)
    if refusal is None:
        return None
    return Diagnostic(
        codes.CACHE_NOT_USED,
        f"the cache folder {config.cache_folder} is not used: {refusal.why}",
        notes=("nothing is read from it or kept in it; this run compiles what it needs",),
        helps=(refusal.command,),
        facts={"folder": config.cache_folder},
    )
