"""Named regions of a kernel, for the trace and the device profiler."""

from __future__ import annotations

from ttl.diagnostics import RuleBroken, codes
from ttl.semantics.current_engine import running_engine

from .engine import engine


class signpost:  # the language's spelling
    """`with ttl.signpost(name):` measures a region; names may have any characters."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        if not isinstance(name, str) or not name:
            raise codes.WRONG_ARGUMENT.broken(
                f"a signpost is named by a string, not by {name!r}",
                'write for example ttl.signpost("load")',
            )
        self.name = name
        running = running_engine(None)
        if running is not None:
            running.record_signpost(self)

    def __enter__(self) -> None:
        engine("ttl.signpost()").signpost(self, is_end=False)

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is None:
            engine("ttl.signpost()").signpost(self, is_end=True)


def without_with(name: str) -> RuleBroken:
    return codes.SIGNPOST_WITHOUT_WITH.broken(
        f"ttl.signpost({name!r}) measures nothing: it is not the head of a `with`",
        f"write `with ttl.signpost({name!r}):` around the statements that it measures",
    )
