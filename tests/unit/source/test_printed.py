"""The tree of a kernel as text: what each name and call is."""

from __future__ import annotations

import textwrap

import ttl
from ttl.source.printed import printed
from ttl.source.trees import tree_of

COUNT = 3


def text(function) -> str:
    """Without the numbers of the lines."""
    lines = printed(tree_of(function), function).splitlines()
    return textwrap.dedent("\n".join(line[7:] for line in lines))


def expected(lines: str) -> str:
    return textwrap.dedent(lines).strip("\n")


def test_names_are_marked_by_what_they_are() -> None:
    limit = 2

    def kernel(a, *rest, b=COUNT):
        def inner(c):
            return a + c + limit + ttl.TILE_SIZE

        total = inner(b)
        for each in rest:
            total += each if each > -1 else unknown  # noqa: F821
        return [row[0, 1:] for row in total]

    assert text(kernel) == expected("""
        function kernel(a, rest, b)
          function inner(c)
            return kernel.a + c + <limit: int> + <ttl: module>.TILE_SIZE
          assign total = inner(b)
          loop each in rest
            update total += each if each > -1 else <unknown: nothing>
          return [row[0, 1:] for row in total]
        """)


def test_calls_of_the_language_have_the_names_of_their_parameters() -> None:
    dfb: ttl.DataflowBuffer = ttl.DataflowBuffer.__new__(ttl.DataflowBuffer)
    x = None

    def kernel():
        with dfb.wait() as block, dfb.reserve() as other:
            ttl.copy(x[0, 0], dst=block).wait()
            other.store(ttl.math.exp(block))

    assert text(kernel) == expected("""
        function kernel()
          with
            enter ttl.DataflowBuffer.wait(<dfb: DataflowBuffer>) as block
            enter ttl.DataflowBuffer.reserve(<dfb: DataflowBuffer>) as other
            evaluate ttl.copy(src=<x: NoneType>[0, 0], dst=block).wait()
            evaluate other.store(ttl.exp(x=block))
        """)


def test_control_flow_is_in_few_forms() -> None:
    def kernel(a):
        while a:
            if a > 1:
                break
            elif a < 0:
                continue
        else:
            return
        match a:
            case 2 | 3:
                assert a, "two"
            case _:
                raise ValueError
        try:
            del a
        finally:
            pass

    lines = text(kernel).splitlines()
    assert [line.split()[0] for line in lines] == [
        "function",
        "assign",
        "while",
        "branch",
        "assign",
        "break",
        "otherwise",
        "branch",
        "continue",
        "branch",
        "return",
        "assign",
        "branch",
        "assert",
        "otherwise",
        "raise",
        "try",
        "delete",
    ]


def test_what_has_no_form_is_named() -> None:
    async def kernel():
        class Inner: ...

        await Inner()

    assert "  foreign class\n" in text(kernel) and "await Inner()" in text(kernel)
