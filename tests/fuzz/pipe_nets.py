"""Pipe nets of random topology and trip counts, and who waits for ever by a model of its own.

A case is a plan: who sends and receives how often, in which order. The program is written from it,
and so are the events of the model: a transfer is over when the send and all posts have started.
A node that receives what it sends into the block that it sends posts by sending.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any

from fuzz.engines import with_tail
from fuzz.judging import Verdict
from fuzz.plans import judged

GRIDS = ((2, 1), (3, 1), (2, 2), (3, 2))
KERNELS = ("first", "second")
Node = tuple[int, int]

NET = """\
    net{n} = ttl.PipeNet([{pipes}])
    out{n} = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
    into{n} = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
"""
SEND = """\
        def send{n}(pipe):
            with out{n}.reserve() as block:
                ttl.copy(x[{n}, here], block).wait()
                ttl.copy(block, pipe).wait()
            with out{n}.wait() as block:
                ttl.copy(block, y[{row}, here]).wait()

"""
TAKE = """\
        def save{n}():
            with into{n}.wait() as block:
                ttl.copy(block, y[{row}, here]).wait()

        def take{n}(pipe):
            with into{n}.reserve() as block:
                ttl.copy(pipe, block).wait()
            save{n}()

"""
BOTH = """\
        def both{n}(pipe):
            with into{n}.reserve() as block:
                post = ttl.copy(pipe, block)
                net{n}.if_src(send{n})
                post.wait()
            save{n}()

"""
OWN = """\
        def own{n}(i):
            with into{n}.reserve() as block:

                def fill(pipe):
                    ttl.copy(x[{n}, here], block).wait()
                    ttl.copy(block, pipe).wait()

                net{n}.if_src(fill)
{between}
            save{n}()

"""
RECEIVE = "net{n}.if_dst({function})"
FUNCTIONS = "lambda pipe: ttl.copy(pipe, block).wait()", "receive"
# What stands between the send and the receive.
BETWEEN = (
    "{receive}",
    "count = i + 1\n{receive}",
    "print(i)\n{receive}",
    "if net{n}.is_active():\n    {receive}",
    "if not net{n}.is_dst():\n    return\n{receive}",
    "for _ in range(1):\n    {receive}",
)


@dataclass(frozen=True)
class Pipe:
    source: Node
    receivers: tuple[Node, ...]
    text: str


@dataclass(frozen=True)
class Net:
    pipes: tuple[Pipe, ...]
    sender: int  # which kernel
    receiver: int
    between: int | None = None  # a source that can receives into the block that it sends


@dataclass(frozen=True)
class Plan:
    grid: Node
    nets: tuple[Net, ...]
    edits: tuple[tuple[int, int, str, int, int], ...]  # kernel, node, action, net, times

    @property
    def nodes(self) -> list[Node]:
        return [(x, y) for x in range(self.grid[0]) for y in range(self.grid[1])]


def _range(low: int, high: int) -> str:
    return str(low) if high == low + 1 else f"slice({low}, {high})"


def _pipe(given: list[int]) -> Pipe:
    x, y, x0, x1, y0, y1 = given
    receivers = tuple((i, j) for j in range(y0, y1) for i in range(x0, x1))
    text = f"ttl.Pipe(({x}, {y}), ({_range(x0, x1)}, {_range(y0, y1)}))"
    return Pipe((x, y), receivers, text)


def read_plan(text: str) -> Plan:
    given = json.loads(text)
    nets = [
        Net(
            tuple(_pipe(pipe) for pipe in net["pipes"]),
            net["sender"],
            net["receiver"],
            net.get("between"),
        )
        for net in given["nets"]
    ]
    return Plan(tuple(given["grid"]), tuple(nets), tuple(tuple(each) for each in given["edits"]))


# Making -------------------------------------------------------------------------------------------


def plan(seed: int) -> str:
    """Transfers of all in one order, of which some are then changed."""
    random = Random(seed)
    width, height = random.choice(GRIDS)
    nets = [_net(random, width, height) for _ in range(random.choice((1, 1, 2, 2, 3)))]
    made = {"grid": [width, height], "nets": nets, "edits": []}
    read = read_plan(json.dumps(made))
    edits = [
        [*where, how, number, times]
        for _ in range(random.choice((1, 2, 3, 5)))
        for number in [random.randrange(len(nets))]
        for times in [random.choice((1, 1, 2, 3, 7, 40))]
        for *where, how in _transfer(read, number)
    ]
    for _ in range(random.choice((0, 0, 1, 1, 2, 3))):
        _spoil(random, edits)
    return json.dumps({**made, "edits": edits})


def _net(random: Random, width: int, height: int) -> dict[str, Any]:
    pipes = []
    for _ in range(random.choice((1, 1, 2, 3, 4))):
        x0, y0 = random.randrange(width), random.randrange(height)
        wide = random.random() < 0.4
        x1 = random.randrange(x0, width) + 1 if wide else x0 + 1
        y1 = random.randrange(y0, height) + 1 if wide else y0 + 1
        pipes.append([random.randrange(width), random.randrange(height), x0, x1, y0, y1])
    made = {"pipes": pipes, "sender": random.choice((0, 1)), "receiver": random.choice((0, 1))}
    if random.random() < 0.5:
        _, _, x0, x1, y0, y1 = random.choice(pipes)
        loopback = [random.randrange(x0, x1), random.randrange(y0, y1), x0, x1, y0, y1]
        made["pipes"] = [loopback, *random.choice(([], [], pipes))]
        made |= {"receiver": made["sender"], "between": random.randrange(2 * len(BETWEEN))}
    return made


def _transfer(plan: Plan, number: int) -> list[tuple[int, int, str]]:
    """What each node does for all pipes of a net, such that it ends if each is used alone."""
    net, found = plan.nets[number], []
    for place, node in enumerate(plan.nodes):
        sends = any(pipe.source == node for pipe in net.pipes)
        takes = sum(node in pipe.receivers for pipe in net.pipes)
        if sends and takes == 1 and net.sender == net.receiver:
            is_own = any(pipe.source == node and node in pipe.receivers for pipe in net.pipes)
            how = "own" if is_own and net.between is not None else "both"
            found.append((net.sender, place, how))
            continue
        found += [(net.sender, place, "send")] * sends + [(net.receiver, place, "take")] * (
            takes > 0
        )
    return found


def _spoil(random: Random, edits: list[list[Any]]) -> None:
    if not edits:
        return
    one, other = (random.randrange(len(edits)) for _ in range(2))
    kind = random.choice(("exchange", "exchange", "leave out", "times"))
    if kind == "exchange":
        edits[one], edits[other] = edits[other], edits[one]
    elif kind == "leave out":
        del edits[one]
    else:
        edits[one][4] = max(1, edits[one][4] + random.choice((-1, 1)))


# The program --------------------------------------------------------------------------------------


def program(text: str) -> str:
    plan = read_plan(text)
    lines = ["import ttl\n\n\n", f"@ttl.operation(grid={plan.grid})\n", "def operation(x, y):\n"]
    for n, net in enumerate(plan.nets):
        lines.append(NET.format(n=n, pipes=", ".join(pipe.text for pipe in net.pipes)))
    for kernel, name in enumerate(KERNELS):
        lines.append(f"\n    @ttl.datamovement()\n    def {name}():\n")
        lines.append("        here = ttl.node(dims=1)\n\n")
        lines += [_callbacks(net, n, kernel) for n, net in enumerate(plan.nets)]
        lines += [_action(edit) for edit in plan.edits if edit[0] == kernel]
    count = len(plan.nodes)
    inputs = [((96, 32 * count), "float32", -99, 99, 1), ((192, 32 * count), "float32", 0, 2, 1)]
    return with_tail("".join(lines), inputs)


def _callbacks(net: Net, n: int, kernel: int) -> str:
    text = SEND.format(n=n, row=2 * n) if net.sender == kernel else ""
    text += TAKE.format(n=n, row=2 * n + 1) if net.receiver == kernel else ""
    if net.sender == net.receiver == kernel:
        text += BOTH.format(n=n)
        if net.between is not None:
            text += OWN.format(n=n, between=_between(n, *divmod(net.between, len(BETWEEN))))
    return text


def _between(n: int, function: int, way: int) -> str:
    receive = RECEIVE.format(n=n, function=FUNCTIONS[function])
    lines = BETWEEN[way].format(n=n, receive=receive).split("\n")
    if FUNCTIONS[function] == "receive":
        lines = ["", "def receive(pipe):", "    ttl.copy(pipe, block).wait()", "", *lines]
    return "\n".join(" " * 16 * bool(line) + line for line in lines)


def _action(edit: tuple[int, int, str, int, int]) -> str:
    _, node, how, net, times = edit
    role = "src" if how == "send" else "dst"
    call = f"own{net}(i)" if how == "own" else f"net{net}.if_{role}({how}{net})"
    return (
        f"        if here == {node}:\n"
        f"            for i in range({times}):\n"
        f"                {call}\n"
    )


# The model ----------------------------------------------------------------------------------------

Event = tuple[str, int, int]  # starts or waits, the net, the pipe


def _events(plan: Plan, kernel: int, place: int) -> list[Event]:
    node, found = plan.nodes[place], list[Event]()
    for own, where, how, number, times in plan.edits:
        if (own, where) != (kernel, place):
            continue
        pipes = list(enumerate(plan.nets[number].pipes))
        sent = [
            (act, number, n) for n, pipe in pipes if pipe.source == node for act in ("send", "sent")
        ]
        got = [n for n, pipe in pipes if node in pipe.receivers]
        if how == "own":
            itself = [(act, number, got[0]) for act in ("send", "post", "sent")]
            others = [event for event in sent if event[2] != got[0]]
            at = sum(event[2] < got[0] for event in others)
            found += [*others[:at], *itself, *others[at:], ("posted", number, got[0])] * times
        elif how == "send":
            found += sent * times
        else:
            between = sent if how == "both" else []
            once = [
                event
                for n in got
                for event in (("post", number, n), *between, ("posted", number, n))
            ]
            found += once * times
    return found


def waits_for_ever(text: str) -> bool:
    """Each kernel does what it can, until none can do anything."""
    plan = read_plan(text)
    kernels = [(k, n) for n in range(len(plan.nodes)) for k in range(len(KERNELS))]
    left = {each: _events(plan, *each) for each in kernels}
    started: Counter[tuple[Any, ...]] = Counter()  # by net, pipe and node, or "send"

    def is_over(net: int, pipe: int, number: int) -> bool:
        ends = ["send", *plan.nets[net].pipes[pipe].receivers]
        return all(started[net, pipe, end] >= number for end in ends)

    def can(kernel: tuple[int, int], event: Event) -> bool:
        what, net, pipe = event
        end: Any = "send" if what.startswith("sen") else plan.nodes[kernel[1]]
        if what in ("send", "post"):
            started[net, pipe, end] += 1
            return True
        return is_over(net, pipe, started[net, pipe, end])

    has_moved = True
    while has_moved:
        has_moved = False
        for kernel, events in left.items():
            while events and can(kernel, events[0]):
                del events[0]
                has_moved = True
    return any(left.values())


def check(text: str) -> Verdict:
    return judged(program(text), "never" if waits_for_ever(text) else "always")
