"""Programs with semaphores, a third of which wait for ever, and a model that tries all orders.

A case is a plan: what each kernel does, in its order. The model goes through all states that any
schedule reaches: which end, which get stuck, and whether a set may come before and after another
change of a value that somebody waits for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from fuzz.engines import with_tail
from fuzz.judging import Verdict
from fuzz.plans import judged

KERNELS = ("first", "second")
MOST_STATES = 40_000
Action = tuple[int, int, str, int, int, int]  # kernel, node, action, semaphore, target, value


def plan(seed: int) -> str:
    """Signals with their waits, of which some are then changed."""
    random = Random(seed)
    nodes, count = random.choice((1, 2, 2, 3)), random.choice((1, 1, 2))
    initial = [random.choice((0, 0, 0, 1)) for _ in range(count)]
    sums = {(s, n): initial[s] for s in range(count) for n in range(nodes)}
    edits: list[list[Any]] = []
    for _ in range(random.choice((1, 2, 3, 4))):
        edits += _signal(random, nodes, count, sums)
    for _ in range(random.choice((0, 1, 1, 2, 3))):
        _spoil(random, edits)
    return json.dumps({"nodes": nodes, "initial": initial, "edits": edits})


def _signal(
    random: Random, nodes: int, count: int, sums: dict[tuple[int, int], int]
) -> Iterator[list[Any]]:
    semaphore, target, source = (random.randrange(n) for n in (count, nodes, nodes))
    waiting, changing = random.choice(((0, 1), (1, 0), (0, 0) if target != source else (0, 1)))
    value = random.choice((1, 1, 2))
    if random.random() < 0.75:
        sums[semaphore, target] += value
        yield [changing, source, "inc", semaphore, target, value]
    else:
        sums[semaphore, target] = value
        yield [changing, source, "set", semaphore, target, value]
    wait = random.choice(("wait_ge", "wait_ge", "wait_eq"))
    yield [waiting, target, wait, semaphore, target, sums[semaphore, target]]
    if random.random() < 0.2:
        sums[semaphore, target] = 0
        yield [waiting, target, "set", semaphore, target, 0]


def _spoil(random: Random, edits: list[list[Any]]) -> None:
    if not edits:
        return
    one, other = (random.randrange(len(edits)) for _ in range(2))
    kind = random.choice(("exchange", "exchange", "leave out", "value"))
    if kind == "exchange":
        edits[one], edits[other] = edits[other], edits[one]
    elif kind == "leave out":
        del edits[one]
    else:
        edits[one][5] = max(0, edits[one][5] + random.choice((-1, 1)))


# The program --------------------------------------------------------------------------------------


def program(text: str) -> str:
    plan = json.loads(text)
    lines = [
        "import ttl\n\n\n",
        f"@ttl.operation(grid=({plan['nodes']}, 1))\n",
        "def operation(x):\n",
    ]
    lines += [f"    sem{n} = ttl.Semaphore({v})\n" for n, v in enumerate(plan["initial"])]
    for kernel, name in enumerate(KERNELS):
        lines.append(f"\n    @ttl.datamovement()\n    def {name}():\n")
        lines.append("        here = ttl.node(dims=1)\n")
        lines += [_statement(*edit[1:]) for edit in plan["edits"] if edit[0] == kernel]
    return with_tail("".join(lines), [((32, 32), "float32", 0, 2, 1)])


def _statement(node: int, action: str, semaphore: int, target: int, value: int) -> str:
    on = "" if target == node and action != "inc" else f".get_remote(({target}, 0))"
    return f"        if here == {node}:\n            sem{semaphore}{on}.{action}({value})\n"


# The model ----------------------------------------------------------------------------------------


class Model:
    """All states: how far each kernel has come, and all values."""

    def __init__(self, text: str):
        plan = json.loads(text)
        by_kernel: dict[tuple[int, int], list[Action]] = {}
        for edit in plan["edits"]:
            by_kernel.setdefault((edit[0], edit[1]), []).append(tuple(edit))
        self.kernels = list(by_kernel.values())
        cells = [(s, n) for s in range(len(plan["initial"])) for n in range(plan["nodes"])]
        self.cells = {cell: place for place, cell in enumerate(cells)}
        values = tuple(plan["initial"][semaphore] for semaphore, _ in cells)
        self.ends = self.sticks = False
        self.positions: set[tuple[int, ...]] = set()
        self._explore(((0,) * len(self.kernels), values))

    def _explore(self, start: Any) -> None:
        seen, left = {start}, [start]
        while left and len(seen) < MOST_STATES:
            state = left.pop()
            self.positions.add(state[0])
            following = list(self._following(*state))
            is_end = all(at == len(k) for at, k in zip(state[0], self.kernels, strict=True))
            self.ends |= is_end
            self.sticks |= not following and not is_end
            left += [each for each in following if each not in seen]
            seen.update(following)
        self.is_complete = not left

    def _following(self, positions: tuple[int, ...], values: tuple[int, ...]) -> Iterator[Any]:
        for number, (at, kernel) in enumerate(zip(positions, self.kernels, strict=True)):
            if at == len(kernel):
                continue
            _, _, action, semaphore, target, value = kernel[at]
            cell = self.cells[semaphore, target]
            now = values[cell]
            if (action == "wait_ge" and now < value) or (action == "wait_eq" and now != value):
                continue
            after = list(values)
            if action == "inc":
                after[cell] = (now + value) % 2**32
            elif action == "set":
                after[cell] = value
            moved = (*positions[:number], at + 1, *positions[number + 1 :])
            yield moved, tuple(after)

    @property
    def has_race(self) -> bool:
        """May a set, or a wait, come before and after a change that spoils it?"""
        waited = {each[3:5] for k in self.kernels for each in k if each[2].startswith("wait")}
        uses = [
            (k, at, each)
            for k, kernel in enumerate(self.kernels)
            for at, each in enumerate(kernel)
            if each[3:5] in waited
        ]
        return any(
            self._is_in_no_order(one, other)
            for one in uses
            for other in uses
            if one[0] != other[0] and one[2][3:5] == other[2][3:5] and _is_spoiled(one[2], other[2])
        )

    def _is_in_no_order(self, one: Any, other: Any) -> bool:
        first = any(p[one[0]] > one[1] and p[other[0]] <= other[1] for p in self.positions)
        second = any(p[one[0]] <= one[1] and p[other[0]] > other[1] for p in self.positions)
        return first and second


def _is_spoiled(one: Action, change: Action) -> bool:
    (*_, first, _, _, value), (*_, second, _, _, changed) = one, change
    if second.startswith("wait"):
        return False
    if first == "set":
        return second == "inc" or changed != value
    if second == "inc":
        return first == "wait_eq" and changed > 0
    return changed < value if first == "wait_ge" else first == "wait_eq" and changed != value


def check(text: str) -> Verdict:
    model = Model(text)
    if not model.is_complete:
        return Verdict(ending="too many states")
    if not model.sticks and not model.has_race:
        return judged(program(text), "always")
    if not model.ends:
        return judged(program(text), "never")
    return judged(program(text), "race" if model.has_race else "sometimes")
