"""Random unified operations: loops, sums, reductions, products, branches, single elements, tensors
that are written and read back. Every number stays a small integer.
"""

from __future__ import annotations

from random import Random
from textwrap import indent

from fuzz.engines import Input, with_tail

Lines = list[str]
HELPERS = """\
def r_load(tensor, row, dfb):
    with dfb.reserve() as r_new:
        ttl.copy({r_tensor}, r_new).wait()


def c_limited(c_value):
    return ttl.math.clamp(c_value, -3, 3)


"""
ARGUMENTS = """

def make_arguments():
    tensors = make_tensors()
    if IS_ALIASED:
        tensors[3] = tensors[2]
    return tensors


"""


class Maker:
    def __init__(self, random: Random):
        self.random = random
        self.is_wide = random.random() < 0.6  # f32: then also products and sums of whole blocks
        shapes = [(1, 1), (1, 2), (2, 2)] if self.is_wide else [(1, 1), (1, 2), (2, 1)]
        self.shape = random.choice(shapes)
        self.grid = random.choice([1, 1, 2])
        self.row = 0  # of blocks, of those that one node computes
        self.depth = 0
        self.buffers: list[str] = []
        self.saved: list[str] = []  # rows of t that are written, as text
        self.has_alias = random.random() < 0.3

    def text(self) -> str:
        body = [line for _ in range(self.random.randint(1, 3)) for line in self._piece()]
        made = [
            f"{name} = ttl.make_dataflow_buffer_like(a, shape={self.shape}, block_count=2)"
            for name in self.buffers
        ]
        lines = [
            *made,
            f"rows = a.shape[0] // {32 * self.shape[0] * self.grid}",
            "node = ttl.node(dims=1)",
            *body,
        ]
        head = f"import ttl\n\nLIMIT = {self.random.randint(1, 3)}\nIS_ALIASED = {self.has_alias}\n"
        operation = f"@ttl.operation(grid=({self.grid}, 1))\ndef operation(a, b, t, u, y):\n"
        whole = head + "\n\n" + HELPERS.format(r_tensor=self._part("tensor", "row")) + operation
        return self._with_arguments(whole + indent("\n".join(lines), "    ") + "\n")

    def _with_arguments(self, text: str) -> str:
        rows, columns = (32 * size for size in self.shape)
        size = (rows * max(self.row, 1) * self.grid, columns)
        dtype = "float32" if self.is_wide else "bfloat16"
        inputs: list[Input] = [(size, dtype, -3, 4, 1)] * 4 + [(size, dtype, 0, 1, 1)]
        tail = with_tail(text, inputs)
        plain = 'if __name__ == "__main__":\n    operation(*make_tensors())\n'
        assert plain in tail
        called = plain.replace("make_tensors", "make_arguments")
        return tail.replace(plain, ARGUMENTS.lstrip("\n") + called)

    # Pieces ---------------------------------------------------------------------------------------

    def _piece(self) -> Lines:
        """Some turns, each of which computes a block of y."""
        first, outer, inner = self.row, self.random.randint(1, 3), self.random.randint(1, 2)
        depth = self.random.choice([0, 1, 1, 2])
        turns = {0: 1, 1: outer, 2: outer * inner}[depth]
        self.row += turns
        place = {0: f"{first}", 1: f"{first} + i", 2: f"{first} + i * {inner} + j"}[depth]
        if depth == 1 and self.random.random() < 0.3:
            place = f"{first + outer - 1} - i"
        self.depth = depth
        body = [f"row = node * rows + {place}", *self._skip(), *self._branch(), *self._in_place()]
        if depth == 2:
            body = self._loop("j", inner, body)
        lines = self._loop("i", outer, body) if depth else body
        if self.random.random() < 0.3:
            lines += self._read_again(first, turns)
        return lines

    def _read_again(self, first: int, turns: int) -> Lines:
        """What an earlier loop wrote to t, the last row first."""
        self.row += turns
        row = f"node * rows + {first + turns - 1} - i"
        body = [f"again = {row}", *self._load("w", self.random.choice(self._scratch()), "again")]
        buffer = self.buffers[-1]
        body += [f"row = node * rows + {first + turns} + i", *self._compute([buffer])]
        return self._loop("i", turns, [*body, *self._save("y", "row")])

    def _scratch(self) -> list[str]:
        return ["t", "u"] if self.has_alias else ["t"]

    @staticmethod
    def _loop(name: str, count: int, body: Lines) -> Lines:
        return [f"for {name} in range({count}):", *_in(body)]

    def _skip(self) -> Lines:
        """Some turns do nothing, or are the last."""
        if not self.depth or self.random.random() < 0.85:
            return []
        return [f"if {self._condition()}:", f"    {self.random.choice(['continue', 'break'])}"]

    def _in_place(self) -> Lines:
        """No turn but this one touches the row."""
        if self.random.random() < 0.8:
            return []
        lines = self._load("r", "b", "row")
        return [*lines, *self._compute([self.buffers[-1]]), *self._save("b", "row")]

    def _branch(self) -> Lines:
        if self.random.random() < 0.25:
            return [f"if {self._condition()}:", *_in(self._work()), "else:", *_in(self._work())]
        return self._work()

    def _condition(self) -> str:
        known = ["node == 0", "LIMIT > 1", "rows > 2 or node == 1"]
        known += ["i % 2 == 0", "i == node"] if self.depth else []
        return self.random.choice(known)

    def _work(self) -> Lines:
        kind = self.random.choice(["plain", "plain", "sum", "added", "element", "back", "back"])
        if kind == "sum":
            return [*self._sum(), *self._save("y", "row")]
        if kind == "added":
            return [*self._added(), *self._save("y", "row")]
        if kind == "element":
            return [*self._element(), *self._compute([self.buffers[-1]]), *self._save("y", "row")]
        lines, given = self._loads()
        lines += self._compute(given)
        if kind == "back":
            target = self.random.choice(self._scratch())
            lines += self._save(target, "row")
            source = self.random.choice(self._scratch())
            lines += self._load("w", source, "row")
            lines += self._compute([self.buffers[-1]])
        return [*lines, *self._save("y", "row")]

    # Data movement --------------------------------------------------------------------------------

    def _part(self, tensor: str, row: str) -> str:
        rows, columns = self.shape
        place = row if rows == 1 else f"{rows} * ({row}) : {rows} * ({row}) + {rows}"
        return f"{tensor}[{place}, {0 if columns == 1 else f'0:{columns}'}]"

    def _buffer(self, end: str) -> str:
        self.buffers.append(f"{end}{len(self.buffers)}_dfb")
        return self.buffers[-1]

    def _loads(self) -> tuple[Lines, list[str]]:
        lines: Lines = []
        found = []
        for name in self.random.choice([["a"], ["b"], ["a", "b"]]):
            lines += self._load("r", name, "row")
            found.append(self.buffers[-1])
        return lines, found

    def _load(self, thread: str, tensor: str, row: str) -> Lines:
        buffer, new = self._buffer(tensor), f"{thread}_new"
        part = self._part(tensor, row)
        ways = [
            [f"with {buffer}.reserve() as {new}:", f"    ttl.copy({part}, {new}).wait()"],
            [
                f"{new} = {buffer}.reserve()",
                f"{thread}_moved = ttl.copy({part}, {new})",
                f"{thread}_moved.wait()",
                f"{new}.push()",
            ],
        ]
        if thread == "r":
            ways.append([f"r_load({tensor}, {row}, {buffer})"])
        return self.random.choice(ways)

    def _element(self) -> Lines:
        """A number decides which tensor is read."""
        buffer, other = self._buffer("e"), self._part("b", "row")
        place = f"{self.random.randrange(32)}, {self.random.randrange(32)}"
        return [
            f"with {buffer}.reserve() as r_new:",
            f"    ttl.copy({self._part('a', 'row')}, r_new).wait()",
            f"    r_number = ttl.raw_element_read(r_new, {place})",
            f"    if r_number {self.random.choice(('>', '<'))} 0:",
            f"        ttl.copy({other}, r_new).wait()",
        ]

    def _save(self, tensor: str, row: str) -> Lines:
        buffer, part = self.out, self._part(tensor, row)
        return self.random.choice(
            [
                [f"with {buffer}.wait() as w_done:", f"    ttl.copy(w_done, {part}).wait()"],
                [f"w_done = {buffer}.wait()", f"ttl.copy(w_done, {part}).wait()", "w_done.pop()"],
            ]
        )

    # Computing ------------------------------------------------------------------------------------

    def _compute(self, given: list[str]) -> Lines:
        self.out = self._buffer("o")
        values = [f"c_{name[:-4]}" for name in given]
        items = [f"{name}.wait() as {value}" for name, value in zip(given, values, strict=True)]
        head = f"with {', '.join([*items, f'{self.out}.reserve() as c_out'])}:"
        return [head, *_in(self._stores(values))]

    def _stores(self, values: list[str]) -> Lines:
        plain = [f"c_out.store({self._expression(values)})"]
        kind = self.random.choice(["plain", "plain", "if", "name", "turns"])
        if kind == "if":
            other = f"c_out.store({self._expression(values)})"
            return [f"if {self._condition()}:", *_in(plain), "else:", f"    {other}"]
        if kind == "name":
            return [f"c_value = {self._expression(values)}", "c_out.store(c_value + c_value)"]
        if kind == "turns":
            body = [f"c_out += {self._expression(values)}"]
            return self._loop("n", self.random.randint(1, 3), body)
        return plain

    def _sum(self) -> Lines:
        """A value that a loop carries."""
        lines = [f"c_total = ttl.math.fill({self.random.randint(0, 2)}, shape={self.shape})"]
        body, value = self._summand()
        lines += self._loop("k", self.random.randint(1, 3), [*body, f"    c_total += {value}"])
        self.out = self._buffer("o")
        return [*lines, f"with {self.out}.reserve() as c_out:", "    c_out.store(c_total)"]

    def _added(self) -> Lines:
        """A block that a loop adds to."""
        body, value = self._summand()
        self.out = self._buffer("o")
        loop = self._loop("k", self.random.randint(1, 3), [*body, f"    c_out += {value}"])
        return [f"with {self.out}.reserve() as c_out:", *_in(loop)]

    def _summand(self) -> tuple[Lines, str]:
        lines, given = self._loads()
        values = [f"c_{name[:-4]}" for name in given]
        items = [f"{name}.wait() as {value}" for name, value in zip(given, values, strict=True)]
        return [*lines, f"with {', '.join(items)}:"], self._expression(values)

    def _expression(self, values: list[str]) -> str:
        """Every block is read, and the result is between -3 and 3."""
        found = values[0]
        for value in values[1:]:
            found = f"({found} {self.random.choice('+-*')} {value})"
        for _ in range(self.random.randint(0, 2)):
            found = self._wider(found, self.random.choice(values))
        return (
            f"c_limited({found})"
            if self.random.random() < 0.4
            else (f"ttl.math.clamp({found}, -3, 3)")
        )

    def _wider(self, found: str, value: str) -> str:
        forms = [
            f"ttl.math.{self.random.choice(['abs', 'relu', 'neg'])}({found})",
            f"({found} {self.random.choice('+-*')} {self.random.randint(1, 2)})",
            f"({self.random.randint(1, 2)} - {found})",
            f"ttl.math.{self.random.choice(['max', 'min'])}({found}, {value})",
            f"ttl.math.where({value}, {found}, {value})",
        ]
        if self.is_wide:
            dims = self.random.choice([[0], [1], [0, 1]])
            name = self.random.choice(["reduce_sum", "reduce_max"])
            reduced = f"ttl.math.{name}(c_limited({found}), dims={dims})"
            wide = f"ttl.math.broadcast({reduced}, dims={dims}, shape={self.shape})"
            forms += [f"({value} + {wide})", f"({wide} - {value})", f"ttl.math.square({found})"]
        if self.is_wide and self.shape[0] == self.shape[1]:
            forms += [f"(c_limited({found}) @ {value})"] * 2
            forms += [f"ttl.math.transpose(c_limited({found}))"]
        return self.random.choice(forms)


def _in(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]
