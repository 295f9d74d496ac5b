"""Random programs with pipes and semaphores as Python text: right ones, and ones that hang.

A program is made of actions that both data movement kernels take part in, in the same order: a
transfer, a signal, a loop or a condition around others. As such most programs end. Then some get
statements exchanged, left out or doubled, so that all kinds of mistakes occur.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

ROWS = 4  # of tiles for each net; those of a node are its column
GRIDS = ((2, 1), (3, 1), (2, 2), (1, 2), (3, 2))
KERNELS = ("first", "second")

Statement = str | tuple[str, list["Statement"]]  # a line, or a head and what stands under it
Action = tuple[list[Statement], list[Statement]]  # for each kernel

CALLBACKS = {
    "send": """\
sent{n} = 0

def send{n}(pipe):
    nonlocal sent{n}
    with out{n}.reserve() as block:
        ttl.copy(a[sent{n} % {rows}, here], block).wait()
    with out{n}.wait() as block:
        ttl.copy(block, pipe).wait()
    sent{n} += 1

def send_two{n}(pipe):
    send{n}(pipe)
    send{n}(pipe)
""",
    "take": """\
got{n} = 0

def save{n}():
    nonlocal got{n}
    with into{n}.wait() as block:
        ttl.copy(block, y[{first} + got{n} % {rows}, here]).wait()
    got{n} += 1

def take{n}(pipe):
    with into{n}.reserve() as block:
        ttl.copy(pipe, block).wait()
    save{n}()

def take_two{n}(pipe):
    with into{n}.reserve() as one, into{n}.reserve() as two:
        posts = ttl.GroupTransfer()
        posts.add(ttl.copy(pipe, one))
        posts.add(ttl.copy(pipe, two))
        posts.wait_all()
    save{n}()
    save{n}()
""",
    "both": """\
def both{n}(pipe):
    with into{n}.reserve() as block:
        post = ttl.copy(pipe, block)
        net{n}.if_src(send{n})
        post.wait()
    save{n}()
""",
}
# How a kernel that has both ends of a net uses them.
BOTH_ENDS = {
    "one after the other": ("net{n}.if_src(send{n})", "net{n}.if_dst(take{n})"),
    "nested": ("net{n}.if_dst(both{n})",),
    "posted first": (
        (
            "if net{n}.is_dst():",
            (
                (
                    "with into{n}.reserve() as block:",
                    (
                        "posts = ttl.GroupTransfer()",
                        "net{n}.if_dst(lambda pipe: posts.add(ttl.copy(pipe, block)))",
                        "net{n}.if_src(send{n})",
                        "posts.wait_all()",
                    ),
                ),
                "save{n}()",
            ),
        ),
        ("if not net{n}.is_dst():", ("net{n}.if_src(send{n})",)),
    ),
    "sent first": (
        (
            "if net{n}.is_src() and net{n}.is_dst():",
            (
                (
                    "with out{n}.reserve() as block:",
                    ("ttl.copy(a[sent{n} % {rows}, here], block).wait()", "sent{n} += 1"),
                ),
                (
                    "with into{n}.reserve() as block, out{n}.wait() as source:",
                    (
                        "moves = ttl.GroupTransfer()",
                        "net{n}.if_src(lambda pipe: moves.add(ttl.copy(source, pipe)))",
                        "net{n}.if_dst(lambda pipe: moves.add(ttl.copy(pipe, block)))",
                        "moves.wait_all()",
                    ),
                ),
                "save{n}()",
            ),
        ),
        (
            "else:",
            ("net{n}.if_src(send{n})", "net{n}.if_dst(take{n})"),
        ),
    ),
}


@dataclass(frozen=True)
class Net:
    number: int
    pipes: tuple[str, ...]
    sender: int  # which kernel
    receiver: int
    block_counts: tuple[int, int]


class Maker:
    def __init__(self, random: Random):
        self.random = random
        self.grid = random.choice(GRIDS)
        self.nodes = [(x, y) for y in range(self.grid[1]) for x in range(self.grid[0])]
        self.nets = [self._net(number) for number in range(random.choice((0, 1, 1, 1, 2, 2)))]
        counts = (0, 0, 1, 1, 2) if self.nets else (1, 2)
        self.semaphores = [random.choice((0, 0, 0, 1, 3)) for _ in range(random.choice(counts))]
        self.loops = 0
        self.signalled: dict[tuple[int, int], int] = {}

    def _net(self, number: int) -> Net:
        choice = self.random.choice
        pipes = [
            f"ttl.Pipe({choice(self.nodes)}, {self._place()})" for _ in range(choice((1, 2, 2, 4)))
        ]
        sender = choice((0, 1))
        receiver = choice((sender, 1 - sender, 1 - sender))
        return Net(number, tuple(pipes), sender, receiver, (choice((1, 2)), choice((1, 2, 3))))

    def _place(self) -> str:
        return f"({self._part(self.grid[0])}, {self._part(self.grid[1])})"

    def _part(self, size: int) -> str:
        low = self.random.randrange(size)
        if self.random.random() < 0.5:
            return str(low)
        return f"slice({low}, {self.random.randrange(low, size) + 1})"

    # Actions

    def _action(self, depth: int, loop: str | None) -> Action:
        kinds = [self._transfer] * 4 * bool(self.nets)
        kinds += [self._signal] * 3 * bool(self.semaphores)
        kinds += [self._around] * 4 * bool(depth)
        return self.random.choice(kinds)(depth, loop)

    def _around(self, depth: int, loop: str | None) -> Action:
        choice = self.random.choice
        kind = choice(("loop", "loop", "condition", "nodes"))
        if kind == "loop":
            self.loops += 1
            loop = f"i{self.loops}"
            head = f"for {loop} in range({choice((1, 2, 3, 6, 7, 40))}):"
        elif kind == "condition":
            head = f"if {loop or 1} % 2 == {choice((0, 1))}:"
        else:
            head = self._nodes()
        inner = [self._action(depth - 1, loop) for _ in range(choice((1, 1, 2)))]
        bodies = [[each for action in inner for each in action[k]] for k in (0, 1)]
        first, second = ([(head, body)] if body else [] for body in bodies)
        return [*first], [*second]

    def _nodes(self) -> str:
        heads = ["if x == 0:", "if here != 0:", "if row == 0:"]
        for net in self.nets:
            role = self.random.choice(("src", "dst", "active"))
            heads.append(f"if net{net.number}.is_{role}():")
        return self.random.choice(heads)

    def _transfer(self, depth: int, loop: str | None) -> Action:
        net, result = self.random.choice(self.nets), _nothing()
        n = net.number
        if net.sender == net.receiver:
            how = self.random.choice(list(BOTH_ENDS.values()))
            result[net.sender].extend(_filled(each, n) for each in how)
        else:
            two = "_two" if net.block_counts[1] > 1 and self.random.random() < 0.3 else ""
            result[net.sender].append(f"net{n}.if_src(send{two}{n})")
            result[net.receiver].append(f"net{n}.if_dst(take{two}{n})")
        return result

    def _signal(self, depth: int, loop: str | None) -> Action:
        choice, result = self.random.choice, _nothing()
        number, target, one = (
            choice(range(len(self.semaphores))),
            choice(self.nodes),
            choice((0, 1)),
        )
        name, value = f"sem{number}", str(choice((0, 1, 2, 3)))
        at_target = f"if here == {self.nodes.index(target)}:"
        at_source = f"if here == {choice(range(len(self.nodes)))}:"
        wait = choice(("wait_ge", "wait_ge", "wait_eq"))
        kind = choice(("inc", "inc", "inc", "set", "all", "own", "wait"))
        if kind == "inc":
            key = number, self.nodes.index(target)
            self.signalled[key] = self.signalled.get(key, self.semaphores[number]) + 1
            value = str(self.signalled[key])
            if loop is not None:
                value = f"{self.semaphores[number]} + {loop} + 1"
            result[one].append((at_source, [f"{name}.get_remote({target}).inc(1)"]))
            result[1 - one].append((at_target, [f"{name}.{wait}({value})"]))
        elif kind == "set":
            result[one].append((at_source, [f"{name}.get_remote({target}).set({value})"]))
            result[1 - one].append((at_target, [f"{name}.{wait}({value})"]))
        elif kind == "all":
            value = value if loop is None else f"{loop} + 1"
            place = choice(("", self._place()))
            result[one].append((at_source, [f"{name}.get_remote_multicast({place}).set({value})"]))
            result[1 - one].append(f"{name}.{wait}({value})")
        elif kind == "own":
            result[one].append(f"{name}.set({value})")
            result[choice((0, 1))].append(f"{name}.{wait}({value})")
        else:
            result[one].append(f"{name}.{wait}({value})")
        return result

    # Mistakes

    def _spoil(self, body: list[Statement]) -> None:
        chosen = self.random.choice([body, *_bodies(body)])
        if not chosen:
            return
        one, other = (self.random.randrange(len(chosen)) for _ in range(2))
        if _belongs_together(chosen):
            return
        how = self.random.choice(("exchange", "exchange", "leave out", "double"))
        if how == "exchange":
            chosen[one], chosen[other] = chosen[other], chosen[one]
        elif how == "double":
            chosen.insert(one, chosen[one])
        elif len(chosen) > 1:
            del chosen[one]

    # Text

    def program(self) -> str:
        actions = [self._action(2, None) for _ in range(self.random.choice((1, 2, 3, 4)))]
        bodies = [[each for action in actions for each in action[k]] for k in (0, 1)]
        for _ in range(self.random.choice((0, 0, 1, 2))):
            self._spoil(self.random.choice(bodies))
        lines = ["import ttl", "", "", f"@ttl.operation(grid={self.grid})", "def operation(a, y):"]
        lines += _indented([*self._declarations()])
        for kernel, (name, body) in enumerate(zip(KERNELS, bodies, strict=True)):
            inner = ["x, row = ttl.node(dims=2)", "here = ttl.node(dims=1)"]
            inner += [line for net in self.nets for line in _callbacks(net, kernel)]
            lines += _indented(["", "@ttl.datamovement()", f"def {name}():"])
            lines += _indented(inner + _lines(body), 2)
        return "\n".join(lines) + "\n"

    def _declarations(self) -> list[str]:
        lines = [f"sem{n} = ttl.Semaphore({value})" for n, value in enumerate(self.semaphores)]
        for net in self.nets:
            lines.append(f"net{net.number} = ttl.PipeNet([{', '.join(net.pipes)}])")
            for name, count in zip(("out", "into"), net.block_counts, strict=True):
                make = f"ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count={count})"
                lines.append(f"{name}{net.number} = {make}")
        return lines


def _nothing() -> Action:
    return [], []


def _filled(statement: object, n: int) -> Statement:
    if isinstance(statement, str):
        return statement.format(n=n, rows=ROWS)
    assert isinstance(statement, tuple)
    head, body = statement
    return head.format(n=n), [_filled(each, n) for each in body]


def _bodies(body: list[Statement]) -> list[list[Statement]]:
    found = [each[1] for each in body if not isinstance(each, str)]
    return found + [inner for each in found for inner in _bodies(each)]


def _belongs_together(body: list[Statement]) -> bool:
    """An `else`, or a name that must be there before it is used."""
    return any("GroupTransfer" in each or each[0] == "else:" for each in body)


def _callbacks(net: Net, kernel: int) -> list[str]:
    ends = {"send": net.sender, "take": net.receiver}
    kinds = [kind for kind, own in ends.items() if own == kernel]
    if len(kinds) == 2:
        kinds.append("both")
    first = net.number * ROWS
    texts = [CALLBACKS[kind].format(n=net.number, rows=ROWS, first=first) for kind in kinds]
    return [line for text in texts for line in text.splitlines()]


def _lines(body: list[Statement]) -> list[str]:
    lines: list[str] = []
    for each in body:
        if isinstance(each, str):
            lines.append(each)
        else:
            lines += [each[0], *_indented(_lines(each[1]) or ["pass"])]
    return lines


def _indented(lines: list[str], depth: int = 1) -> list[str]:
    return [f"{'    ' * depth}{line}" if line else line for line in lines]


def node_program(seed: int) -> str:
    return Maker(Random(seed)).program()
