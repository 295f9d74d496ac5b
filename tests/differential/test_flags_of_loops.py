"""Blocks that only the first of many iterations releases, told by a flag: the compiler knows that
the others do not, or says what it does not translate; it never calls a right program wrong.
"""

from __future__ import annotations

import pytest

from fuzz.engines import check, run, with_tail
from ttl.config import process_variables
from ttl.diagnostics import Severity

PROGRAM = """\
import ttl


@ttl.operation(grid=(2, 1))
def operation(x, y):
    a_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.datamovement()
    def read():
        for _ in range(301):
            with a_dfb.reserve() as a_blk:
                ttl.copy(x[0, 0], a_blk).wait()

    @ttl.compute()
    def compute():
        node = ttl.node(dims=1)
        held = a_dfb.wait()
        {before}
        for i in range(300):
            {first}
            {body}
            with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
                y_blk.store(a_blk * 2)

    @ttl.datamovement()
    def write():
        for _ in range(300):
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, ttl.node(dims=1)]).wait()
"""
RIGHT = {
    "a bool": ("first = True", "if first: held.pop(); first = False", ""),
    "an int": ("first = 1", "if first: held.pop(); first = 0", ""),
    "a text": ("mode = 'first'", "if mode == 'first': held.pop(); mode = 'next'", ""),
    "none": ("first = held", "if first is not None: first.pop(); first = None", ""),
    "a count": ("count = 0", "if count == 0: held.pop()", "count += 1"),
    "the iteration": ("", "if i == 0: held.pop()", ""),
    "of two": (
        "one, two = True, False",
        "if one and not two: held.pop(); one = False",
        "two = False",
    ),
}
UNTRANSLATED = {
    "the node's": ("first = node == 0", "if first: held.pop(); first = False", ""),
    "in the middle": ("", "if i == 50: held.pop()", ""),
    "of a loop that ends": (
        "for k in range(300):\n            if k == 7: held.pop()\n            if k == 7: break",
        "",
        "",
    ),
}
WRONG = {
    "in each": ("", "held.pop()", ""),
    "in some": ("", "if i % 100 == 0: held.pop()", ""),
    "in the first two": ("first = True", "if first: held.pop(); first = i < 1", ""),
    "in those after the first": ("first = True", "if not first: held.pop()", "first = False"),
}


def program(parts: tuple[str, str, str]) -> str:
    before, first, body = (part or "pass" for part in parts)
    text = PROGRAM.format(before=before, first=first, body=body)
    return with_tail(text, [((32, 32), "float32", 1, 9, 1), ((32, 64), "float32", 1, 9, 1)])


def errors(text: str) -> list[str]:
    return [each.code.code for each in check(text)[1] if each.severity is Severity.ERROR]


@pytest.mark.parametrize("name", RIGHT)
def test_a_flag_that_stays_is_followed(name: str) -> None:
    text = program(RIGHT[name])
    assert errors(text) == []
    simulated, compiled = run(text, "sim"), run(text, "host")
    assert simulated.kind == "ended", simulated
    assert simulated.same_as(compiled), compiled


@pytest.mark.parametrize("name", UNTRANSLATED)
def test_what_is_not_translated_is_not_called_wrong(name: str) -> None:
    """Python runs them: the releases that are left out after the loop are known only then."""
    text = program(UNTRANSLATED[name])
    assert errors(text) == [*run(text, "host").codes] == ["TTL7001"]


@pytest.mark.parametrize("name", WRONG)
def test_a_second_release_is_an_error_everywhere(name: str) -> None:
    text = program(WRONG[name])
    assert errors(text) == ["TTL3001"]
    assert run(text, "sim").codes == run(text, "host").codes == ("TTL3001",)
    with process_variables({"TTL_STRICT": "1"}):
        assert run(text, "sim").kind == "refused"
