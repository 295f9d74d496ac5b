"""Estimates times of a graph in a flatbuffer: kernels by the model, calls of ttnn by rooflines.

Rules
* roof: a call of ttnn takes its launch plus the longest of: its bytes at the DRAM bandwidth of all
  nodes, its products on the matrix units, its function on the vector units.
* nodes: the chip's nodes, or one for each tile of the result if that is fewer.
* once: bodies of loops and all branches count once; how often they run depends on the data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from math import ceil, prod

from ttgraph.flatbuffer import Runtime
from ttgraph.flatbuffer.program import CallStep, GenericStep, GraphProgram, TensorDescription
from ttl.studio.estimate import Range, estimate
from ttl.target import Target
from ttl.target.costs import Case, Costs, load_costs, read_costs
from ttl.target.data_formats import TILE_ELEMENTS, TILE_SIZE

FIDELITY = "HiFi4"  # ttnn's default
FREE = ("constant", "bitcast", "assign", "empty")  # nothing runs on the device


@dataclass(frozen=True, slots=True)
class CallTime:
    """Time of a call of the graph, in microseconds."""

    name: str
    is_kernel: bool  # simulated; otherwise a call of ttnn
    times: Range
    bound: str


@dataclass(frozen=True, slots=True)
class GraphTime:
    name: str
    chip: str
    calls: tuple[CallTime, ...]
    dispatch: Range  # between calls

    @property
    def microseconds(self) -> Range:
        return _total([self.dispatch, *(each.times for each in self.calls)])


def _total(times: Sequence[Range]) -> Range:
    best, typical, worst = zip(*((t.best, t.typical, t.worst) for t in times), strict=True)
    return Range(sum(best), sum(typical), sum(worst))


def graph_time(runtime: Runtime, name: str, target: Target, data: object = None) -> GraphTime:
    """Estimate a file called `name`, with kernels on the chip that they were compiled for."""
    costs = data or load_costs(target.name)
    calls = [
        call
        for number, program in enumerate(runtime.programs)
        for call in _calls(runtime, number, program, costs, target)
    ]
    cases = [read_costs(costs, case)["dispatch_us"] for case in Case]
    dispatch = Range(*(len(calls) * each for each in cases))
    return GraphTime(name, target.name, tuple(calls), dispatch)


def _calls(
    runtime: Runtime, number: int, program: GraphProgram, costs: object, target: Target
) -> Iterator[CallTime]:
    for position, step in enumerate(program.steps):
        if isinstance(step, GenericStep):
            for compiled, recording in runtime.record(number, position):
                found = estimate(compiled, recording, costs)
                yield CallTime(found.operation, True, found.microseconds, found.bound)
        elif isinstance(step, CallStep) and step.operation not in FREE:
            yield _roof(step, program, costs, target)


def _roof(
    step: CallStep, program: GraphProgram, data: object, target: Target
) -> CallTime:  # rule roof
    given, result = program.described(step.inputs), program.tensors[step.output]
    times, bound = [], ""
    for case in Case:
        costs = read_costs(data, case)
        parts = _parts(step, given, result, costs, target)
        start = sum(
            costs[name]
            for name in (
                "processor.kernel_start_cycles",
                "noc.dram_read.latency_cycles",
                "noc.dram_write.latency_cycles",
            )
        )
        times.append((start + max(parts.values())) / costs["clock_ghz"] / 1e3)
        if case is Case.TYPICAL:
            bound = max({**parts, "start": start}.items(), key=lambda part: part[1])[0]
    return CallTime(step.operation, False, Range(*times), bound)


def _parts(
    step: CallStep,
    given: Sequence[TensorDescription],
    result: TensorDescription,
    costs: Costs,
    target: Target,
) -> dict[str, float]:
    tiles = max(1, ceil(prod(result.shape) / TILE_ELEMENTS))
    nodes = min(prod(target.default_grid), tiles)  # rule nodes
    moved = result.size_bytes + sum(each.size_bytes for each in given)
    tile_bytes = max(
        (each.size_bytes // max(1, ceil(prod(each.shape) / TILE_ELEMENTS)) for each in given),
        default=0,
    )
    product = max(
        costs[f"compute.matmul_cycles.{FIDELITY}"] + costs["compute.matmul_overhead_cycles"],
        tile_bytes / costs["compute.unpack_bytes_per_cycle"],
    )
    return {
        "DRAM": moved / costs["dram.mixed_bytes_per_cycle"],
        "math": _products(step, given, result) * product / nodes
        + tiles * _vector_cycles(step.operation, costs) / nodes,
    }


def _products(
    step: CallStep, given: Sequence[TensorDescription], result: TensorDescription
) -> float:
    """Count the products of a tile by a tile."""
    size = prod(result.shape)
    if step.operation in ("matmul", "linear"):
        depth = given[0].shape[-1]
    elif step.operation in ("conv2d", "conv_transpose2d"):
        depth = prod(given[1].shape[1:])
    elif step.operation == "scaled_dot_product_attention":
        depth = 2 * given[1].shape[-2]
    else:
        return 0.0
    return size * depth / TILE_SIZE**3


def _vector_cycles(operation: str, costs: Costs) -> float:
    rows = (row for row in costs.calls if re.fullmatch(row.pattern, f"{operation}_tile"))
    row = next(rows, None)
    return 0.0 if row is None else row.cycles


def graph_lines(found: GraphTime, against: GraphTime | None) -> Iterator[str]:
    span = found.microseconds
    yield f"{found.name} on {found.chip}: {_span(span)} us, {len(found.calls)} calls"
    yield f"  between the calls: {_span(found.dispatch)} us of it"
    for is_kernel, title in ((True, "kernels (simulated)"), (False, "operations of ttnn (roofs)")):
        rows = _totals([call for call in found.calls if call.is_kernel is is_kernel])
        if rows:
            yield f"  {title}"
            yield from (
                f"    {name:32} {count:4} times {_span(total):>28} us  bound: {bound}"
                for name, count, total, bound in rows
            )
    if against is not None:
        other = against.microseconds
        ratio = other.typical / span.typical
        beside = f"{against.name} beside it: {_span(other)} us, {len(against.calls)} calls"
        yield f"{beside}: {ratio:.2f} times as long"


def _totals(calls: Iterable[CallTime]) -> list[tuple[str, int, Range, str]]:
    by_name: dict[str, list[CallTime]] = {}
    for call in calls:
        by_name.setdefault(call.name, []).append(call)
    rows = [
        (name, len(own), _total([each.times for each in own]), own[0].bound)
        for name, own in by_name.items()
    ]
    return sorted(rows, key=lambda row: -row[2].typical)


def _span(times: Range) -> str:
    return f"{times.typical:.3g} ({times.best:.3g} to {times.worst:.3g})"


def graph_values(found: GraphTime) -> dict[str, object]:
    return {
        "graph": found.name,
        "chip": found.chip,
        "microseconds": asdict(found.microseconds),
        "dispatch": asdict(found.dispatch),
        "calls": [
            {
                "name": each.name,
                "is_kernel": each.is_kernel,
                "bound": each.bound,
                "microseconds": asdict(each.times),
            }
            for each in found.calls
        ],
    }
