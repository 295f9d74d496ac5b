"""Programs as they are written for the public tools: each row is one way of writing something.

A row fills parts of PROGRAM; what it computes is `expected`, of the float32 array `a`. What the
public simulator (tt-lang-sim 1.1.6) and compiler (tt-lang 1.1.1) do with it was measured once; what
pyttlang does, on both backends, is measured when the page is made and whenever the tests run.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

PROGRAM = """\
@ttl.operation(grid={grid})
def operation({arguments}):
{setup}
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
SETUP = """\
a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)
"""
READ = """\
with a_dfb.reserve() as blk:
    xf = ttl.copy(a[0, 0], blk)
    xf.wait()
"""
COMPUTE = """\
with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
    y_blk.store(a_blk + a_blk)
"""
WRITE = """\
with y_dfb.wait() as blk:
    xf = ttl.copy(blk, y[0, 0])
    xf.wait()
"""
STAGED = """\
with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
    y_blk.store({expression})
"""
RUNS, REFUSES, WRONG = "runs", "refuses", "runs, wrong result"


@dataclass(frozen=True, slots=True)
class Row:
    """`shown` stands in the table; None of `expected` means that pyttlang refuses the program."""

    shown: str
    simulator: str
    compiler: str
    expected: str | None = "2 * a"
    setup: str = SETUP
    read: str = READ
    compute: str = COMPUTE
    write: str = WRITE
    grid: str = "(1, 1)"
    arguments: str = "a, y"
    before: str = ""  # text of the program to replace, and by what
    after: str = ""
    values: tuple[object, ...] = ()  # of the arguments after the tensors
    shape: tuple[int, ...] = (32, 32)
    dtypes: tuple[str, ...] = ("float32", "float32")  # of the tensors: the last is the result
    on_device: bool = True

    @property
    def program(self) -> str:
        parts = {
            "setup": textwrap.indent(self.setup, "    "),
            **{
                name: textwrap.indent(getattr(self, name), "        ")
                for name in ("read", "compute", "write")
            },
        }
        text = PROGRAM.format(grid=self.grid, arguments=self.arguments, **parts)
        assert self.before in text
        return text.replace(self.before, self.after) if self.before else text


def _expression(shown: str, expected: str, simulator: str, compiler: str) -> Row:
    compute = STAGED.format(expression=shown)
    return Row(f"`{shown}`", simulator, compiler, expected, compute=compute)


def _weights(shown: str, operator: str, dtypes: tuple[str, ...]) -> Row:
    """An operand more, of another element type; the public compiler refuses them all."""
    both = COMPUTE.replace("as a_blk,", "as a_blk, w_dfb.wait() as w_blk,")
    return Row(
        shown,
        RUNS,
        REFUSES,
        f"a {operator} a",
        arguments="a, w, y",
        setup=SETUP + "w_dfb = ttl.make_dataflow_buffer_like(w, shape=(1, 1), block_count=2)\n",
        read=READ + READ.replace("a_dfb", "w_dfb").replace("a[", "w["),
        compute=both.replace("a_blk + a_blk", f"a_blk {operator} w_blk"),
        dtypes=dtypes,
    )


RELEASES = (
    Row(
        "`push()`, `pop()` and `wait()` left out",
        RUNS,
        RUNS,
        read="blk = a_dfb.reserve()\nttl.copy(a[0, 0], blk)\n",
        compute="a_blk = a_dfb.wait()\ny_blk = y_dfb.reserve()\ny_blk.store(a_blk + a_blk)\n",
        write="blk = y_dfb.wait()\nttl.copy(blk, y[0, 0])\n",
    ),
    Row(
        "`t = t_dfb.reserve(); t.store(..); b = t_dfb.wait()` in one kernel",
        REFUSES,
        RUNS,
        setup=SETUP + "t_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=1)\n",
        compute="""\
a_blk = a_dfb.wait()
t = t_dfb.reserve()
t.store(a_blk + a_blk)
b = t_dfb.wait()
y_blk = y_dfb.reserve()
y_blk.store(b)
""",
    ),
    Row(
        "`ttl.copy(a[0, 0], a_dfb.reserve())`",
        RUNS,
        RUNS,
        read="ttl.copy(a[0, 0], a_dfb.reserve())\n",
        write="ttl.copy(y_dfb.wait(), y[0, 0])\n",
    ),
    Row(
        "a block pushed and never popped",
        RUNS,
        RUNS,
        read=READ + READ,
    ),
    Row(
        "a block popped and never read",
        REFUSES,
        RUNS,
        read=READ + READ,
        compute=COMPUTE + "a_dfb.wait().pop()\n",
    ),
    Row(
        "a block stored into twice, and not read in between",
        REFUSES,
        RUNS,
        compute=STAGED.format(expression="a_blk") + "    y_blk.store(a_blk + a_blk)\n",
    ),
    Row(
        "two nodes write the same bytes to a tile",
        RUNS,
        RUNS,
        grid="(2, 1)",
    ),
    Row(
        "two nodes write different bytes to a tile",
        WRONG,
        RUNS,
        None,
        grid="(2, 1)",
        read="x, row = ttl.node(dims=2)\n" + READ.replace("a[0, 0]", "a[x, row]"),
        shape=(64, 32),
    ),
)
NAMES = (
    Row(
        "`@ttl.kernel(grid=..)` (until 0.13)",
        REFUSES,
        REFUSES,
        before="ttl.operation",
        after="ttl.kernel",
    ),
    Row(
        "`ttl.core(dims=1)` (until 0.11)",
        REFUSES,
        REFUSES,
        read="node = ttl.core(dims=1)\n" + READ.replace("a[0, 0]", "a[node, 0]"),
    ),
    Row(
        "`ttl.make_circular_buffer_like(a, shape=.., buffer_factor=2)` (until 0.5, 0.15)",
        REFUSES,
        REFUSES,
        setup=SETUP.replace("dataflow", "circular").replace("block_count", "buffer_factor"),
    ),
    Row(
        "`a_dfb.push()`, `y_dfb.pop()` (until 0.7)",
        REFUSES,
        REFUSES,
        read="blk = a_dfb.reserve()\nxf = ttl.copy(a[0, 0], blk)\nxf.wait()\na_dfb.push()\n",
        write="blk = y_dfb.wait()\nxf = ttl.copy(blk, y[0, 0])\nxf.wait()\ny_dfb.pop()\n",
    ),
    Row(
        "`y_blk.store(x, acc=True)` (until 0.12)",
        REFUSES,
        REFUSES,
        "3 * a",
        compute=COMPUTE + "    y_blk.store(a_blk, acc=True)\n",
    ),
    Row(
        "`@ttl.compute`, `@ttl.datamovement` without parentheses",
        REFUSES,
        REFUSES,
        before="()\n    def",
        after="\n    def",
    ),
)
EXPRESSIONS = (
    _expression("ttl.exp(a_blk)", "np.exp(a)", REFUSES, RUNS),
    _expression("ttl.transpose(a_blk)", "a.T", REFUSES, RUNS),
    _expression("ttl.add(a_blk, a_blk)", "a + a", REFUSES, RUNS),
    _expression("ttl.matmul(a_blk, a_blk)", "a @ a", REFUSES, REFUSES),
    _expression("ttl.matmul(a_blk, a_blk, transpose_b=True)", "a @ a.T", REFUSES, REFUSES),
    _expression("ttl.math.matmul(a_blk, a_blk)", "a @ a", RUNS, REFUSES),
    _expression("ttl.math.log1p(a_blk)", "np.log1p(a)", REFUSES, REFUSES),
    _expression("ttl.math.sinh(a_blk)", "np.sinh(a)", REFUSES, REFUSES),
    _expression("ttl.math.cosh(a_blk)", "np.cosh(a)", REFUSES, REFUSES),
    _expression("ttl.math.mish(a_blk)", "a * np.tanh(np.log1p(np.exp(a)))", REFUSES, REFUSES),
    _expression("ttl.math.cbrt(a_blk)", "np.cbrt(a)", REFUSES, REFUSES),
    _expression("ttl.math.logical_not(a_blk)", "(a == 0).astype(float)", REFUSES, REFUSES),
    _expression("ttl.math.fill(a_blk, 3)", "np.full_like(a, 3)", REFUSES, RUNS),
    _expression(
        "ttl.block.fill(3, shape=(1, 1), dtype=torch.float32)",
        "np.full_like(a, 3)",
        REFUSES,
        REFUSES,
    ),
)
ARGUMENTS = (
    Row(
        "a tuple as an argument of the operation",
        RUNS,
        REFUSES,
        arguments="a, y, corner",
        values=((0, 0),),
        before="a[0, 0]",
        after="a[corner[0], corner[1]]",
    ),
    Row(
        "`None` as an argument of the operation",
        RUNS,
        REFUSES,
        arguments="a, y, bias",
        values=(None,),
        setup=SETUP + "assert bias is None\n",
    ),
    Row(
        '`print(.., thread="pack")`',
        REFUSES,
        RUNS,
        compute='print("here", thread="pack")\n' + COMPUTE,
    ),
    Row(
        "tiled tensors of one dimension, blocks of shape `(k,)`",
        REFUSES,
        REFUSES,
        setup=SETUP.replace("(1, 1)", "(2,)"),
        read=READ.replace("a[0, 0]", "a[0:2]"),
        write=WRITE.replace("y[0, 0]", "y[0:2]"),
        shape=(64,),
    ),
    _weights("bfloat16 weights in `@` with float32", "@", ("float32", "bfloat16", "float32")),
    _weights(
        "`bfloat8_b` weights in `@` with bfloat16", "@", ("bfloat16", "bfloat8_b", "bfloat16")
    ),
    _weights("bfloat16 plus float32", "+", ("bfloat16", "float32", "float32")),
    Row("tensors without a device", RUNS, RUNS, on_device=False),
    Row(
        "`ttl.node(dims=1)` on a grid of (2, 2): x * 2 + y",
        RUNS,
        REFUSES,
        "2 * a",
        grid="(2, 2)",
        read="x, row = ttl.node(dims=2)\n" + READ.replace("a[0, 0]", "a[x * 2 + row, 0]"),
        write="node = ttl.node(dims=1)\n" + WRITE.replace("y[0, 0]", "y[node, 0]"),
        shape=(128, 32),
    ),
    Row(
        "a dict as an argument of the operation",
        RUNS,
        REFUSES,
        arguments="a, y, sizes",
        values=({"row": 0},),
        setup=SETUP + 'row = sizes["row"]\n',
        before="a[0, 0]",
        after="a[row, 0]",
    ),
    Row(
        "the `Pipe` itself in `ttl.copy` inside a callback",
        RUNS,
        RUNS,
        grid="(2, 1)",
        setup=SETUP
        + "s_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)\n"
        + "pipe = ttl.Pipe((0, 0), (1, 0))\nnet = ttl.PipeNet([pipe])\n",
        read="""\
def send(_):
    with s_dfb.reserve() as blk:
        xf = ttl.copy(a[0, 0], blk)
        xf.wait()
        out = ttl.copy(blk, pipe)
        out.wait()

def receive(_):
    with a_dfb.reserve() as blk:
        xf = ttl.copy(pipe, blk)
        xf.wait()

net.if_src(send)
net.if_dst(receive)
""",
        compute="if net.is_dst():\n" + textwrap.indent(COMPUTE, "    "),
        write="if net.is_dst():\n" + textwrap.indent(WRITE, "    "),
    ),
    Row(
        "a pipe's slice without an end: `ttl.Pipe((0, 0), (0, slice(1, None)))`",
        REFUSES,
        REFUSES,
        None,
        setup=SETUP + "net = ttl.PipeNet([ttl.Pipe((0, 0), (0, slice(1, None)))])\n",
        grid="(1, 2)",
    ),
)
SECTIONS = {
    "Releases and waits": RELEASES,
    "Names of earlier versions": NAMES,
    "Expressions": EXPRESSIONS,
    "Arguments": ARGUMENTS,
}
ROWS = tuple(row for rows in SECTIONS.values() for row in rows)
