"""The affine form: `indexing_maps` select the blocks of the tensors for each iteration.

The program then has one compute thread. Its body runs for every iteration, and kernels move the
blocks of the inputs for it. A parallel iterator goes over cores and over `block_factors` output
blocks on each of them, a reduction over `block_factors` steps for each of these; its dimension of a
tensor is divided into as many blocks.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass
from itertools import product

from ttl.diagnostics import Span
from ttl.language.engine import engine
from ttl.semantics.types import Shape

from .mistakes import refused, wrong_type, wrong_value
from .objects import CircularBuffer

PARALLEL, REDUCTION = "parallel", "reduction"
Map = tuple[int | None, ...]  # the iterator of each dimension of a tensor; None is block 0


@dataclass(frozen=True, slots=True)
class Iteration:
    """The kinds of iterators, and those that select the block of each tensor, the output last."""

    iterators: tuple[str, ...]
    maps: tuple[Map, ...]
    factors: Shape = ()

    def grid_of(self, position: int, grid: Shape) -> Shape:
        """Return the number of blocks that a tensor is divided into, by dimension."""
        return tuple(1 if d is None else self._count(d, grid) for d in self.maps[position])

    def _count(self, iterator: int, grid: Shape) -> int:
        factor: int = self.factors[iterator]
        if self.iterators[iterator] == REDUCTION:
            return factor
        return grid[self.maps[-1].index(iterator)] * factor

    def block(self, position: int, core: Shape, counters: Shape) -> Shape:
        """Return the block of a tensor for an iteration."""
        return tuple(
            0
            if d is None
            else counters[d]
            if self.iterators[d] == REDUCTION
            else core[self.maps[-1].index(d)] * self.factors[d] + counters[d]
            for d in self.maps[position]
        )

    def outputs(self) -> list[list[Shape]]:
        """List the counters of the steps for each block of a core's output, in order."""
        reduced = [d for d, kind in enumerate(self.iterators) if kind == REDUCTION]
        order = [*(d for d in self.maps[-1] if d is not None), *reduced]
        steps = list(product(*(range(self.factors[d]) for d in reduced)))
        found = []
        for block in product(*(range(self.factors[d]) for d in order[: len(self.maps[-1])])):
            counters = [dict(zip(order, (*block, *step), strict=True)) for step in steps]
            found.append([tuple(each[d] for d in range(len(order))) for each in counters])
        return found

    def with_factors(self, factors: object, tensors: int, span: Span | None) -> Iteration:
        """Set the factors for a call; WrongValue if the maps do not match the tensors."""
        if tensors != len(self.maps):
            raise wrong_value(
                f"{len(self.maps)} indexing_maps for {tensors} tensors",
                "write a map for each tensor, the output last",
                span,
            )
        factors = (1,) * len(self.iterators) if factors is None else factors
        if (
            not isinstance(factors, (tuple, list))
            or len(factors) != len(self.iterators)
            or not all(type(factor) is int and factor > 0 for factor in factors)
        ):
            raise wrong_value(
                f"block_factors={factors!r} for {len(self.iterators)} iterators",
                "write one positive integer for each: the steps of a reduction, blocks of a core "
                "for the others",
                span,
            )
        return Iteration(self.iterators, self.maps, tuple(factors))


@dataclass(frozen=True, slots=True)
class _Dim:
    number: int


def make_iteration(maps: object, iterators: object, span: Span | None) -> Iteration | None:
    """Make the iteration from the arguments of @pykernel_gen; None in explicit form."""
    if not maps:
        return None
    if not isinstance(maps, (tuple, list)) or not all(callable(each) for each in maps):
        raise wrong_type(
            f"indexing_maps={maps!r}", "write one lambda for each tensor: lambda m, n: (m, n)", span
        )
    counts = {len(inspect.signature(each).parameters) for each in maps}
    if len(counts) != 1:
        raise wrong_value(
            "indexing_maps with different numbers of iterators",
            "give all maps the same parameters: lambda m, n, k: (m, k)",
            span,
        )
    (count,) = counts
    found = tuple(_map(each, count, span) for each in maps)
    output = found[-1]
    if None in output or len(set(output)) != len(output):
        raise wrong_value(
            "the map of the output names no block of its own for each core",
            "write one parallel iterator for each dimension: lambda m, n, k: (m, n)",
            span,
        )
    kinds = tuple(PARALLEL if number in output else REDUCTION for number in range(count))
    if iterators is not None and (
        not isinstance(iterators, (tuple, list)) or tuple(iterators) != kinds
    ):
        raise wrong_value(
            f"iterator_types={iterators!r}",
            f"write {list(kinds)!r}: those of the output's map are parallel, others reductions",
            span,
        )
    return Iteration(kinds, found)


def _map(given: Callable[..., object], count: int, span: Span | None) -> Map:
    try:
        results = given(*(_Dim(number) for number in range(count)))
    except Exception:  # from the user's map, such as arithmetic or attributes
        results = None
    items = results if isinstance(results, (tuple, list)) else ()
    known = [isinstance(each, _Dim) or (type(each) is int and each == 0) for each in items]
    if known != [True, True]:
        raise wrong_value(
            "an indexing map gives something else than iterators and 0",
            "write two results, each a parameter or 0: lambda m, n: (m, 0)",
            span,
        )
    return tuple(each.number if isinstance(each, _Dim) else None for each in items)


# Running ------------------------------------------------------------------------------------------

# The counters of a kernel's current iteration, by its engine.
_COUNTERS: dict[int, Shape] = {}


@dataclass(frozen=True, slots=True)
class Iterations:
    """The iterations of the compute thread's body; each block of the output is pushed."""

    iteration: Iteration
    output: CircularBuffer

    def __iter__(self) -> Iterator[Shape]:
        running = engine("iter_index()")
        try:
            for steps in self.iteration.outputs():
                for counters in steps:
                    _COUNTERS[id(running)] = counters
                    yield counters
                self.output.push_shard()
        finally:
            _COUNTERS.pop(id(running), None)


@dataclass(frozen=True, slots=True)
class Mover:
    """Fills the buffers of the inputs block by block, and empties the output's."""

    iteration: Iteration
    buffers: tuple[CircularBuffer, ...]

    def read(self) -> None:
        core = engine("read_blocks()").node()[::-1]
        for steps in self.iteration.outputs():
            for counters in steps:
                for position, cb in enumerate(self.buffers[:-1]):
                    cb.fill(self.iteration.block(position, core, counters))

    def write(self) -> None:
        core = engine("write_shards()").node()[::-1]
        for steps in self.iteration.outputs():
            self.buffers[-1].empty(self.iteration.block(-1, core, steps[0]))


def iter_index(dim: int) -> int:
    """Return the counter of an iterator of `indexing_maps` in this step of the body."""
    counters = _COUNTERS.get(id(engine("iter_index()")), ())
    check_counter(len(counters), dim)
    step: int = counters[dim]
    return step


def check_counter(count: int, dim: object) -> None:
    if not count:
        raise refused(
            "iter_index() in a thread that writes its loops itself",
            "use the variable of the loop: for k in range(K); or give @pykernel_gen "
            "indexing_maps, whose iterators it counts",
        )
    if type(dim) is not int or not 0 <= dim < count:
        raise refused(f"iter_index({dim!r})", f"write an iterator, 0 to {count - 1}")


# Maps by name -------------------------------------------------------------------------------------


def eltwise_fused_template(args: Sized | int) -> dict[str, object]:
    """Return maps for this many tensors, including the output, with matching blocks."""
    count = args if isinstance(args, int) else len(args)
    return {"indexing_maps": [lambda m, n: (m, n)] * count, "iterator_types": [PARALLEL, PARALLEL]}


def matmul_fused_template(args: Sized | int) -> dict[str, object]:
    """Return maps for a product of the first two tensors; the others have its shape."""
    count = args if isinstance(args, int) else len(args)
    result = [lambda m, n, k: (m, n)] * (count - 2)
    return {
        "indexing_maps": [lambda m, n, k: (m, k), lambda m, n, k: (k, n), *result],
        "iterator_types": [PARALLEL, PARALLEL, REDUCTION],
    }


eltwise_template = eltwise_fused_template(3)
matmul_template = matmul_fused_template(3)
explicit_template: dict[str, object] = {"indexing_maps": None, "iterator_types": None}
