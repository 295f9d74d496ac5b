"""Signposts: values that only a `with` can begin."""

from __future__ import annotations

from typing import Any

from ttl import language
from ttl.diagnostics import wrong_argument
from ttl.language.signposts import without_with

from .builder import KernelBuilder
from .hir import Value, is_run_time
from .problems import describe, not_yet
from .texts import RunTimeText


def signpost(builder: KernelBuilder, name: Any) -> Value:
    if isinstance(name, RunTimeText):
        raise not_yet("signposts named at run time")
    if is_run_time(name):
        raise wrong_argument(f"a signpost is named by a string, not by {describe(name)}")
    made = language.signpost(name)
    builder.signposts[made] = builder.place
    return made


def refuse_unused_signposts(builder: KernelBuilder) -> None:
    """Report signposts that no `with` begins, at the end of the kernel."""
    for place, name in {(place, made.name): None for made, place in builder.signposts.items()}:
        assert place is not None
        builder.frame, builder.node = place.frame, place.node
        builder.report(builder.mistake(without_with(name)))
