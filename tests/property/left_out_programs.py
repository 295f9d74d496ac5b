"""Random programs with every release and wait written, and the same ones with some left out.

Each kernel is a row of pieces that handle two tiles each: y is 2 * x for all of them. Lines with a
mark at their end may be left out, each for itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from textwrap import indent

MARK = "  #?"
TILES_OF_PIECE = 2

TEMPLATE = """\
import ttl


def fill(x, i, blk):
    tx = ttl.copy(x[0, i], blk)
    tx.wait()  #?



def take(dfb):
    blk = dfb.wait()
    return blk


def double(a, o):
    o.store(a + a)
    o.push()  #?


@ttl.operation(grid=(1, 1))
def operation(x, y):
    a_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
    t_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    @ttl.datamovement()
    def read():
{read}

    @ttl.compute()
    def compute():
{compute}

    @ttl.datamovement()
    def write():
{write}
"""

READ = [
    """\
for i in range({first}, {end}):
    blk = a_dfb.reserve()
    tx = ttl.copy(x[0, i], blk)
    tx.wait()  #?
    blk.push()  #?
""",
    """\
for i in range({first}, {end}):
    blk = a_dfb.reserve()
    ttl.copy(x[0, i], blk).wait()
    other = blk
    if i % 2:
        other.push()  #?
        continue
    blk.push()  #?
""",
    """\
one, two = a_dfb.reserve(), a_dfb.reserve()
tx = ttl.copy(x[0, {first} + 1], two)
ty = ttl.copy(x[0, {first}], one)
ty.wait()  #?
one.push()  #?
tx.wait()  #?
two.push()  #?
""",
    """\
for i in range({first}, {end}):
    blk = a_dfb.reserve()
    fill(x, i, blk)
    blk.push()  #?
""",
    """\
for i in range({first}, {end}):
    blk = a_dfb.reserve()
    tx = ttl.copy(x[0, i], blk)
    if i % 2:
        tx.wait()  #?
    else:
        tx.wait()  #?
    blk.push()  #?
""",
    """\
for i in range({first}, {end}):
    group = ttl.GroupTransfer()
    blk = a_dfb.reserve()
    group.add(ttl.copy(x[0, i], blk))
    group.wait_all()  #?
    blk.push()  #?
""",
    """\
for i in range({first}, {end}):
    with a_dfb.reserve() as blk:
        tx = ttl.copy(x[0, i], blk)
        tx.wait()  #?
""",
]

COMPUTE = [
    """\
for _ in range(2):
    a = a_dfb.wait()
    o = y_dfb.reserve()
    o.store(a + a)
    a.pop()  #?
    o.push()  #?
""",
    """\
for _ in range(2):
    a = a_dfb.wait()
    t = t_dfb.reserve()
    t.store(a * 2)
    a.pop()  #?
    t.push()  #?
    b = take(t_dfb)
    o = y_dfb.reserve()
    o.store(b)
    b.pop()  #?
    o.push()  #?
""",
    """\
for i in range(2):
    a = a_dfb.wait()
    o = y_dfb.reserve()
    if i % 2:
        o.store(a + a)
        a.pop()  #?
    else:
        o.store(a * 2)
        a.pop()  #?
    o.push()  #?
""",
    """\
for _ in range(2):
    a = a_dfb.wait()
    o = y_dfb.reserve()
    o.store(a)
    for _ in range(1):
        o += a
    a.pop()  #?
    o.push()  #?
""",
    """\
held = [a_dfb.wait(), a_dfb.wait()]
for a in held:
    o = y_dfb.reserve()
    double(a, o)
held[0].pop()  #1
held[1].pop()  #1
""",
    """\
two = t_dfb.reserve()
two.store(ttl.block.fill(2.0, shape=(1, 1)))
two.push()  #?
factor = t_dfb.wait()
for _ in range(2):
    a = a_dfb.wait()
    o = y_dfb.reserve()
    o.store(a * factor)
    a.pop()  #?
    o.push()  #?
factor.pop()  #?
""",
    """\
held = a_dfb.wait()
for _ in range(1):
    following = a_dfb.wait()
    o = y_dfb.reserve()
    o.store(held + held)
    held.pop()  #?
    o.push()  #?
    held = following
o = y_dfb.reserve()
o.store(held + held)
held.pop()  #?
o.push()  #?
""",
]

WRITE = [
    """\
for i in range({first}, {end}):
    blk = y_dfb.wait()
    tx = ttl.copy(blk, y[0, i])
    tx.wait()  #?
    blk.pop()  #?
""",
    """\
one, two = y_dfb.wait(), y_dfb.wait()
tx = ttl.copy(two, y[0, {first} + 1])
ty = ttl.copy(one, y[0, {first}])
tx.wait()  #?
ty.wait()  #?
one.pop()  #?
two.pop()  #?
""",
    """\
for i in range({first}, {end}):
    blk = take(y_dfb)
    def send(place):
        ttl.copy(blk, y[0, place]).wait()
    send(i)
    blk.pop()  #?
""",
]


@dataclass(frozen=True)
class Program:
    complete: str
    left_out: str
    count: int  # of the lines that are left out
    tiles: int


def drawn_program(seed: int, pieces: int = 3) -> Program:
    random = Random(seed)

    def kernel(kinds: list[str]) -> str:
        found = []
        for number in range(pieces):
            first = number * TILES_OF_PIECE
            piece = random.choice(kinds).format(first=first, end=first + TILES_OF_PIECE)
            found.append(piece)
        return indent("".join(found), "        ")

    text = TEMPLATE.format(read=kernel(READ), compute=kernel(COMPUTE), write=kernel(WRITE))
    lines = text.splitlines()
    share = random.choice((0.3, 0.6, 1.0))
    lists_too = random.random() < share  # of blocks in a list all or none are released
    kept = [line for line in lines if not _is_left_out(line, share, lists_too, random)]
    complete = "\n".join(map(_without_mark, lines)) + "\n"
    return Program(complete, _text(kept), len(lines) - len(kept), pieces * TILES_OF_PIECE)


def _is_left_out(line: str, share: float, lists_too: bool, random: Random) -> bool:
    return random.random() < share if line.endswith(MARK) else lists_too and line.endswith("  #1")


def _without_mark(line: str) -> str:
    return line.removesuffix(MARK).removesuffix("  #1")


def _text(lines: list[str]) -> str:
    """Branches in which nothing is left get a `pass`."""
    found: list[str] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        found.append(_without_mark(line))
        if line.endswith(":") and _depth(following) <= _depth(line):
            found.append(" " * (_depth(line) + 4) + "pass")
    return "\n".join(found) + "\n"


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
