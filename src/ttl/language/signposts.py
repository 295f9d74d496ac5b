"""Named regions of a kernel, for the trace and the device profiler."""

from __future__ import annotations

from ttl.diagnostics import codes

from .engine import engine


class signpost:  # the language's spelling
    """`with ttl.signpost(name):` measures a region; names of any characters."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        if not isinstance(name, str) or not name:
            raise codes.WRONG_ARGUMENT.broken(
                f"a signpost is named by a string, not by {name!r}",
                'write for example ttl.signpost("load")',
            )
        self.name = name

    def __enter__(self) -> None:
        engine("ttl.signpost()").signpost(self.name, is_end=False)

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is None:
            engine("ttl.signpost()").signpost(self.name, is_end=True)
