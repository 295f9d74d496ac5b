"""Random unified operations, and the same split by hand: the generator knows who does what."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from textwrap import indent

THREADS = ("compute", "read", "write")
DECORATORS = {"compute": "compute", "read": "datamovement", "write": "datamovement"}


@dataclass
class Step:
    """Lines of one thread, or index arithmetic of several."""

    threads: tuple[str, ...]
    text: str


@dataclass
class Block:
    """A loop, or a condition with its two sides."""

    head: str
    body: list[Step | Block]
    otherwise: list[Step | Block] = field(default_factory=list)


Tree = list[Step | Block]


@dataclass(frozen=True)
class Program:
    grid: int
    rows: int  # of tiles, of each tensor
    setup: str
    tree: Tree

    def unified(self) -> str:
        return _operation(self, "node = ttl.node(dims=1)\n" + _render(self.tree, THREADS))

    def split(self) -> str:
        kernels = []
        for thread in THREADS:
            body = _render(self.tree, (thread,))
            if "node" in body:
                body = "node = ttl.node(dims=1)\n" + body
            if body:
                kernels.append(f"@ttl.{DECORATORS[thread]}()\ndef {thread}():\n{_in(body)}\n")
        return _operation(self, "\n".join(kernels))


def _operation(program: Program, body: str) -> str:
    head = f"import ttl\n\n@ttl.operation(grid=({program.grid}, 1))\ndef operation(a, b, y):\n"
    return head + _in(program.setup + body)


def _in(text: str) -> str:
    return indent(text, "    ")


def _render(tree: Tree, threads: tuple[str, ...]) -> str:
    found = ""
    for each in tree:
        if isinstance(each, Step):
            found += each.text if set(each.threads) & set(threads) else ""
            continue
        body, otherwise = _render(each.body, threads), _render(each.otherwise, threads)
        if body or otherwise:
            found += f"{each.head}\n{_in(body or 'pass' + chr(10))}"
            found += f"else:\n{_in(otherwise)}" if otherwise else ""
    return found


# Random ones --------------------------------------------------------------------------------------


class Maker:
    def __init__(self, seed: int):
        self.random = Random(seed)
        self.row = 0  # of those that one node computes
        self.has_pipe = self.random.random() < 0.35
        self.grid = self.random.choice([2, 3]) if self.has_pipe else self.random.choice([1, 2])

    def program(self) -> Program:
        tree: Tree = []
        for _ in range(self.random.randint(1, 3)):
            tree += self._loop()
        rows = self.row
        buffers = ["a", "b", "t", "y"] + (["sent", "c"] if self.has_pipe else [])
        setup = "".join(
            f"{name}_dfb = ttl.make_dataflow_buffer_like({like}, shape=(1, 1), block_count=2)\n"
            for name, like in zip(buffers, "abyyaa", strict=False)
        )
        setup += f"rows = {rows}\n"
        if self.has_pipe:
            setup += f"net = ttl.PipeNet([ttl.Pipe((0, 0), (slice(0, {self.grid}), 0))])\n"
        return Program(self.grid, rows * self.grid, setup, tree)

    def _loop(self) -> Tree:
        """One, two or no loops around some work; every turn computes a row of tiles."""
        first = self.row
        outer, inner = self.random.randint(1, 3), self.random.randint(1, 2)
        depth = self.random.choice([0, 1, 1, 2])
        turns = {0: 1, 1: outer, 2: outer * inner}[depth]
        self.row += turns
        place = {0: f"{first}", 1: f"{first} + i", 2: f"{first} + i * {inner} + j"}[depth]
        row = Step(("read", "write"), f"row = node * rows + {place}\n")
        body = [row, *self._branch()]
        if depth == 2:
            body = [Block(f"for j in range({inner}):", body)]
        return [Block(f"for i in range({outer}):", body)] if depth else body

    def _branch(self) -> Tree:
        if self.random.random() < 0.3 and not self.has_pipe:
            condition = self.random.choice(["node == 0", "node % 2 == 1", "rows > 2"])
            return [Block(f"if {condition}:", self._work(), self._work())]
        return self._work()

    def _work(self) -> Tree:
        kind = self.random.choice(["direct", "direct", "through", "sum"])
        if kind == "sum":
            return self._sum()
        inputs = self.random.choice([["a"], ["b"], ["a", "b"]])
        tree: Tree = [self._load(name, "0") for name in inputs]
        names = [*inputs]
        if self.has_pipe:
            tree += self._share()
            names.append("c")
        if kind == "through":
            tree += self._compute(names, "t")
            names = ["t"]
        return [*tree, *self._compute(names, "y"), self._save()]

    def _load(self, name: str, column: str) -> Step:
        part = f"{name}[row, {column}]"
        return Step(
            ("read",),
            self.random.choice(
                [
                    f"with {name}_dfb.reserve() as blk:\n    ttl.copy({part}, blk).wait()\n",
                    f"{name}_new = {name}_dfb.reserve()\nmoved = ttl.copy({part}, {name}_new)\n"
                    f"moved.wait()\n{name}_new.push()\n",
                    f"ttl.copy({part}, {name}_dfb.reserve())\n",
                ]
            ),
        )

    def _save(self) -> Step:
        return Step(
            ("write",),
            self.random.choice(
                [
                    "with y_dfb.wait() as blk:\n    ttl.copy(blk, y[row, 0]).wait()\n",
                    "ttl.copy(y_dfb.wait(), y[row, 0])\n",
                    "done = y_dfb.wait()\nttl.copy(done, y[row, 0]).wait()\ndone.pop()\n",
                ]
            ),
        )

    def _share(self) -> Tree:
        send = "with sent_dfb.wait() as out:\n    net.if_src({})\n".format(
            "lambda pipe: ttl.copy(out, pipe).wait()"
        )
        receive = "with c_dfb.reserve() as got:\n    net.if_dst({})\n".format(
            "lambda pipe: ttl.copy(pipe, got).wait()"
        )
        load = "with sent_dfb.reserve() as own:\n    ttl.copy(a[row, 1], own).wait()\n"
        source = [Step(("read",), load), Step(("write",), send)]
        return [Block("if net.is_src():", source), Step(("read",), receive)]

    def _compute(self, names: list[str], target: str) -> Tree:
        values = [f"{name}_blk" for name in names]
        items = [f"{name}_dfb.wait() as {name}_blk" for name in names]
        items.append(f"{target}_dfb.reserve() as {target}_out")
        store = f"{target}_out.store({self._expression(values)})\n"
        if self.random.random() < 0.3:
            other = f"{target}_out.store({self._expression(values)})\n"
            store = f"if node == 0:\n{_in(store)}else:\n{_in(other)}"
        elif self.random.random() < 0.4:
            store = f"value = {self._expression(values)}\n{target}_out.store(value * 0.5)\n"
        return [Step(("compute",), f"with {', '.join(items)}:\n{_in(store)}")]

    def _expression(self, values: list[str]) -> str:
        """Every block is read."""
        found = values[0]
        for value in values[1:]:
            found = f"({found} {self.random.choice('+-*')} {value})"
        for _ in range(self.random.randint(0, 2)):
            found = self.random.choice(
                [
                    f"ttl.math.{self.random.choice(['abs', 'relu', 'neg', 'square'])}({found})",
                    f"({found} {self.random.choice('+-*')} {self.random.randint(1, 3)})",
                    f"ttl.math.max({found}, {self.random.choice(values)})",
                ]
            )
        return found

    def _sum(self) -> Tree:
        tree: Tree = [Step(("compute",), "total = ttl.math.fill(0, shape=(1, 1))\n")]
        body: Tree = [self._load("a", "k")]
        body += [Step(("compute",), "with a_dfb.wait() as a_blk:\n    total += a_blk\n")]
        tree.append(Block(f"for k in range({self.random.randint(1, 2)}):", body))
        if self.has_pipe:  # every turn sends one
            tree += self._share()
            tree += [Step(("compute",), "with c_dfb.wait() as c_blk:\n    total += c_blk\n")]
        tree.append(Step(("compute",), "with y_dfb.reserve() as y_out:\n    y_out.store(total)\n"))
        return [*tree, self._save()]
