"""Estimates of operations, made from runs of the model."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ttl.artifact import CompiledOperation
from ttl.target import Target, load
from ttl.target.costs import Case, Costs, read_costs
from ttl.target.data_formats import TILE_ELEMENTS, TILE_SIZE
from ttl.trace.calls import Recording

from .calls import ComputeCosts
from .machine import EventMachine
from .parts import COMPILERS, EventThread, Stuck
from .steady import extrapolate_machine, shorten_loops
from .streams import AlikeNodes, Streams

FLOPS_OF_PRODUCT = 2 * TILE_SIZE**3  # one tile by one tile

# Resources that could be faster, and the costs that set their speed.
RESOURCES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("DRAM", ("dram.",)),
    ("NoC", ("noc.*.bytes_per_cycle", "noc.link", "noc.one_way_cycles", "noc.handshake")),
    ("latency", ("noc.*.latency_cycles",)),
    (
        "issue",
        (
            "noc.*.issue_cycles",
            "noc.signal_issue_cycles",
            "processor.buffer_call_cycles",
            "processor.barrier_cycles",
        ),
    ),
    ("math", ("compute.matmul", "compute.calls", "compute.other_call_cycles")),
    ("unpack", ("compute.unpack",)),
    ("pack", ("compute.pack",)),
    (
        "start and set-up",
        ("processor.kernel_start_cycles", "processor.startup_cycles", "processor.init_cycles"),
    ),
)

UNKNOWN = (
    "harvested rows and columns: the grid of the program is taken as it is",
    "refresh and page conflicts of DRAM, beyond the spread of the measured rates",
    "links: requests, signals and tensors in L1 are on none of them",
    "dispatch: what the host and the dispatcher take between operations",
    "scalar code of kernels: only calls of the chip have a cost",
)


@dataclass(frozen=True, slots=True)
class Range:
    best: float
    typical: float
    worst: float

    def scaled(self, factor: float) -> Range:
        return Range(self.best * factor, self.typical * factor, self.worst * factor)


@dataclass(frozen=True, slots=True)
class LineCost:
    """Cost of a program line in one kernel, in cycles of a node of the slowest class."""

    kernel: str
    thread: str
    line: int
    busy: float
    waited: float
    share: float  # share of the operation's time
    times: int
    reason: str  # its longest wait


@dataclass(frozen=True, slots=True)
class ThreadCost:
    kernel: str
    thread: str
    microseconds: float  # from start to end, the mean of all nodes
    busy: float  # share of the operation's time
    waits: tuple[tuple[str, float], ...]  # (reason, share), longest first


@dataclass(frozen=True, slots=True)
class Change:
    """Change that a run of the model found to be faster."""

    why: str  # who waits for what, if the change shortens waits
    what: str
    saved: float  # share of the time saved

    @property
    def text(self) -> str:
        return f"{self.why}{self.what} saves {self.saved:.0%}"


@dataclass(frozen=True, slots=True)
class Estimate:
    operation: str
    chip: str
    nodes: int
    times_called: int
    microseconds: Range
    clock_ghz: float
    flops: float
    read_bytes: float
    written_bytes: float
    peak_tflops: float
    peak_gbytes: float
    bound: str
    gains: tuple[tuple[str, float], ...]  # the share of time saved by each resource twice as fast
    threads: tuple[ThreadCost, ...]
    lines: tuple[LineCost, ...]
    changes: tuple[Change, ...]
    unknown: tuple[str, ...]

    @property
    def tflops(self) -> float:
        return self.flops / self.microseconds.typical / 1e6

    @property
    def roofline(self) -> float:
        """Microseconds at the peak rate of the matrix units or DRAM."""
        moved = (self.read_bytes + self.written_bytes) / self.peak_gbytes / 1e3
        return max(moved, self.flops / self.peak_tflops / 1e6)

    @property
    def gbytes(self) -> float:
        return (self.read_bytes + self.written_bytes) / self.microseconds.typical / 1e3


class Model:
    """Runs of the model for one operation."""

    def __init__(self, compiled: CompiledOperation, recording: Recording, costs: object):
        self.compiled, self.recording, self.data = compiled, recording, costs
        self.target: Target = load(compiled.target)
        self.is_each_alone = False
        self.places = self.costs().places
        self.alike = AlikeNodes(compiled, recording, self.target, self.places)
        self.shortened = shorten_loops(self.alike, recording)
        self.unknown_calls: set[str] = set()

    def costs(self, case: Case = Case.TYPICAL) -> Costs:
        return read_costs(self.data, case)

    def run(self, costs: Costs, compiled: CompiledOperation | None = None) -> EventMachine:
        """Run the machine; if nodes of a class wait for each other, simulate each node alone."""
        compiled = compiled or self.compiled
        try:
            return self._run_all(costs, compiled)
        except Stuck:
            if self.shortened is not None:
                self.shortened = None
            elif not self.is_each_alone:
                self.is_each_alone = True
                self.alike = AlikeNodes(
                    compiled, self.recording, self.target, self.places, is_each_alone=True
                )
            else:
                raise
            return self.run(costs, compiled)

    def _run_all(self, costs: Costs, compiled: CompiledOperation) -> EventMachine:
        if (short := self.shortened) is None:
            return self._run(costs, compiled, self.alike)
        longer = self._run(costs, compiled, short.longer)
        return extrapolate_machine(longer, self._run(costs, compiled, short.shorter), short.factor)

    def _run(
        self, costs: Costs, compiled: CompiledOperation, alike: AlikeNodes, keeps: bool = False
    ) -> EventMachine:
        compute = ComputeCosts(compiled, costs)
        streams = Streams(compiled, self.recording, self.target, compute, alike)
        machine = EventMachine(compiled, streams, costs, self.target)
        machine.slices = [] if keeps else None  # record all steps
        machine.run()
        self.unknown_calls |= compute.unknown
        return machine

    def timeline(self) -> EventMachine:
        """Run the typical case, recording all steps, without extrapolating loops."""
        costs = self.costs()
        self.run(costs)  # decides whether each node is simulated alone
        return self._run(costs, self.compiled, self.alike, keeps=True)

    @property
    def flops(self) -> float:
        return _flops(self.recording)

    def cycles(self, costs: Costs, compiled: CompiledOperation | None = None) -> float:
        return self.run(costs, compiled).end

    def microseconds(self, case: Case) -> float:
        costs = self.costs(case)
        return self.cycles(costs) / costs["clock_ghz"] / 1e3


def estimate(
    compiled: CompiledOperation, recording: Recording, costs: object, times_called: int = 1
) -> Estimate:
    """Estimate an operation on its chip, by costs in the form that target/costs.py describes."""
    from .changes import find_changes

    model = Model(compiled, recording, costs)
    typical = model.costs()
    machine = model.run(typical)
    gains = _find_gains(model, typical, machine.end)
    best, worst = (model.microseconds(case) for case in (Case.BEST, Case.WORST))
    clock = typical["clock_ghz"]
    nodes = len(recording.nodes)
    lines = _lines(compiled, recording, machine)
    return Estimate(
        operation=compiled.name,
        chip=compiled.target,
        nodes=nodes,
        times_called=times_called,
        microseconds=Range(best, machine.end / clock / 1e3, worst),
        clock_ghz=clock,
        flops=model.flops,
        read_bytes=machine.dram.read_bytes,
        written_bytes=machine.dram.written_bytes,
        peak_tflops=_peak_tflops(compiled, typical, nodes),
        peak_gbytes=typical["dram.peak_bytes_per_cycle"] * clock,
        bound=_find_bound(gains, machine),
        gains=gains,
        threads=_threads(compiled, machine, clock),
        lines=lines,
        changes=find_changes(model, machine, lines),
        unknown=(*UNKNOWN, *_unknown_calls(model)),
    )


def _unknown_calls(model: Model) -> list[str]:
    names = ", ".join(sorted(model.unknown_calls))
    return [f"no source has a cost for {names}: that of other functions is taken"] if names else []


def _flops(recording: Recording) -> float:
    """Count the operations of products, and one per element for other functions."""
    total = 0.0
    sites = recording.calls[:, 0] % max(len(recording.sites), 1)
    for number, site in enumerate(recording.sites):
        rows = recording.calls[sites == number]
        if "math" not in site.units:
            continue
        if site.name.startswith("matmul_"):
            total += FLOPS_OF_PRODUCT * float((rows[:, 1].astype(float) * rows[:, 2]).sum())
        elif not site.name.startswith(("copy", "transpose")):
            total += TILE_ELEMENTS * len(rows)
    return total


def _peak_tflops(compiled: CompiledOperation, costs: Costs, nodes: int) -> float:
    """Return the peak of products at the operation's fidelity."""
    compute = ComputeCosts(compiled, costs)
    cycles = costs[f"compute.matmul_cycles.{compute.fidelity}"]
    return nodes * FLOPS_OF_PRODUCT / cycles * costs["clock_ghz"] / 1e3


def _find_gains(model: Model, costs: Costs, cycles: float) -> tuple[tuple[str, float], ...]:
    """Return the time that each resource twice as fast would save; the largest is the bound."""
    gains = [
        (name, 1 - model.cycles(_speed_up(costs, patterns)) / cycles)
        for name, patterns in RESOURCES
    ]
    return tuple(sorted(gains, key=lambda gain: -gain[1]))


def _speed_up(costs: Costs, patterns: tuple[str, ...]) -> Costs:
    def factor(name: str) -> float:
        if not any(_is_match(name, pattern) for pattern in patterns):
            return 1.0
        return 2.0 if name.endswith("bytes_per_cycle") else 0.5

    calls = factor("compute.calls")
    handshake = factor("noc.handshake")
    return replace(
        costs,
        numbers={name: value * factor(name) for name, value in costs.numbers.items()},
        calls=tuple(replace(each, cycles=each.cycles * calls) for each in costs.calls),
        handshake=tuple((n, cycles * handshake) for n, cycles in costs.handshake),
    )


def _is_match(name: str, pattern: str) -> bool:
    first, _, last = pattern.partition("*")
    return name.startswith(first) and name.endswith(last)


def _find_bound(gains: tuple[tuple[str, float], ...], machine: EventMachine) -> str:
    name, _ = gains[0]
    waits = [
        (cycles, reason)
        for node in machine.nodes
        for thread in node.threads
        if thread.plan.role == "unpack"
        for reason, cycles in thread.reasons.items()
        if reason.endswith("is empty") and not reason.startswith(COMPILERS)
    ]
    longest = max(waits, default=(0.0, ""))
    if longest[0] > machine.end / 4 and name not in ("math", "unpack", "pack"):
        return f"{name}; compute waits on `{longest[1].split()[0]}`"
    return name


def _find_slowest(machine: EventMachine, position: int, role: str) -> EventThread:
    """Return the thread of the class in which it takes longest."""
    found = [
        thread
        for node in machine.nodes
        for thread in node.threads
        if thread.plan.kernel == position and thread.plan.role == role
    ]
    return max(found, key=lambda thread: sum(each.busy for each in thread.spent.values()))


def _roles(compiled: CompiledOperation, machine: EventMachine) -> list[tuple[str, EventThread]]:
    plans = [(plan.kernel, plan.role) for plan in machine.streams.classes[0].threads]
    return [
        (compiled.kernels[position].name, _find_slowest(machine, position, role))
        for position, role in plans
    ]


def _mean_cycles(machine: EventMachine, position: int, role: str) -> float:
    total = sum(
        node.count * (thread.time - machine.start)
        for node in machine.nodes
        for thread in node.threads
        if (thread.plan.kernel, thread.plan.role) == (position, role)
    )
    return total / sum(node.count for node in machine.nodes)


def _threads(
    compiled: CompiledOperation, machine: EventMachine, clock: float
) -> tuple[ThreadCost, ...]:
    costs = []
    for name, thread in _roles(compiled, machine):
        busy = sum(each.busy for each in thread.spent.values())
        waits = sorted(thread.reasons.items(), key=lambda item: (-item[1], item[0]))
        shares = tuple((reason, cycles / machine.end) for reason, cycles in waits if cycles > 0)
        plan = thread.plan
        mean = _mean_cycles(machine, plan.kernel, plan.role) / clock / 1e3
        costs.append(ThreadCost(name, plan.role, mean, busy / machine.end, shares))
    return tuple(costs)


def _lines(
    compiled: CompiledOperation, recording: Recording, machine: EventMachine
) -> tuple[LineCost, ...]:
    found: dict[tuple[str, str, int], list[float]] = {}
    longest: dict[tuple[str, str, int], tuple[float, str]] = {}
    for name, thread in _roles(compiled, machine):
        for number, spent in thread.spent.items():
            line = recording.sites[number].line
            place = name, thread.plan.role, line
            total = found.setdefault(place, [0.0, 0.0, 0])
            longest[place] = max(longest.get(place, (0.0, "")), (spent.waited, spent.reason))
            total[0] += spent.busy
            total[1] += spent.waited
            total[2] += spent.times
    rows = [
        LineCost(*place, busy, waited, (busy + waited) / machine.end, int(times), longest[place][1])
        for place, (busy, waited, times) in found.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.busy - row.waited, row.kernel, row.line)))
