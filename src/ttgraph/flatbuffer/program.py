"""A flatbuffer's contents as checked values: a program that can be run.

Tensors are known by their ids. Every step uses tensors that exist at that point, its result has the
shape that its operation gives, and all tensors that exist at one time fit in a chip's memory.
Raises Malformed otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from ttgraph.graph_ops import GRAPH_OPS
from ttl.diagnostics import TTLError
from ttl.semantics.dtypes import BY_DATA_FORMAT, DType
from ttl.semantics.layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT, Layout
from ttl.semantics.types import Shape
from ttl.ttnn.cores import CoreRange, CoreRangeSet, Grid
from ttl.ttnn.enums import BufferType, ShardOrientation, TensorMemoryLayout
from ttl.ttnn.memory_config import MemoryConfig, ShardSpec
from ttl.ttnn.sharding import check_memory_config, padded_shape

from .names import read_names
from .reader import Malformed
from .schema import Fields

MAX_RANK = 12
_ROWS = {op.table.name: op for op in GRAPH_OPS.values() if not op.table.kinds}
_BUFFER_TYPES = {"DRAM": BufferType.DRAM, "SystemMemory": BufferType.DRAM, "L1": BufferType.L1}
_MEMORY_LAYOUTS = {each.name.title().replace("_", ""): each for each in TensorMemoryLayout}


@dataclass(frozen=True, slots=True)
class TensorDescription:
    shape: Shape
    dtype: DType
    layout: Layout
    memory_config: MemoryConfig

    @property
    def is_in_l1_rows(self) -> bool:
        in_l1 = self.memory_config.buffer_type is BufferType.L1
        return in_l1 and self.layout is ROW_MAJOR_LAYOUT and self.memory_config.is_sharded()

    @property
    def size_bytes(self) -> int:
        elements = prod(padded_shape(self.shape, self.layout))
        return elements * max(1, self.dtype.storage.itemsize)


@dataclass(frozen=True, slots=True)
class CallStep:
    """Call of ttnn: `operation` is a name of the table of graph operations, or `constant`."""

    operation: str
    inputs: tuple[int, ...]
    output: int
    attributes: Fields = field(default_factory=dict)
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class GenericStep:
    """Launch of kernels. `program` is a ProgramDescriptor of the schema."""

    tensors: tuple[int, ...]
    semaphores: tuple[int, ...]
    program: Fields
    debug: str


@dataclass(frozen=True, slots=True)
class SemaphoreStep:
    output: int


@dataclass(frozen=True, slots=True)
class FreeStep:
    tensor: int


@dataclass(frozen=True, slots=True)
class ControlStep:
    """Calls other programs, by number: a loop's condition and body, or one of several branches,
    whose number is the first input.
    """

    is_loop: bool
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    programs: tuple[int, ...]


AnyStep = ControlStep | CallStep | GenericStep | SemaphoreStep | FreeStep


@dataclass(frozen=True, slots=True)
class GraphProgram:
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    steps: tuple[AnyStep, ...]
    tensors: dict[int, TensorDescription]
    input_names: tuple[str, ...] = ()  # empty, or one for each
    output_names: tuple[str, ...] = ()

    def named(self, names: tuple[str, ...], ids: tuple[int, ...]) -> list[str]:
        """Return the file's names for these tensors, or numbered names like numpy.savez's."""
        counted = [f"arr_{position}" for position in range(len(ids))]
        if len(names) != len(ids) or len({*names} - {""}) != len(names):
            return counted
        return list(names)

    def described(self, ids: tuple[int, ...]) -> list[TensorDescription]:
        return [self.tensors[each] for each in ids]


def read_program(value: Fields, grid: Grid, memory_bytes: int, source: str = "") -> GraphProgram:
    """Read and check a Program of the schema, for a chip with these cores and this much memory."""
    mesh = value["mesh_shape"] or {"y": 1, "x": 1}
    if (mesh["y"], mesh["x"]) != (1, 1):
        raise Malformed(
            f"programs for a mesh of {mesh['y']}x{mesh['x']} devices are not known here"
        )
    reader = _ProgramReader(grid)
    inputs = tuple(reader.tensor(each) for each in value["inputs"])
    steps = tuple(reader.step(each, n) for n, each in enumerate(value["operations"]))
    outputs = tuple(reader.tensor(each) for each in value["outputs"])
    names = read_names(source, value["name"])
    program = GraphProgram(value["name"], inputs, outputs, steps, reader.tensors, *names)
    _check_lives(program, memory_bytes)
    return program


class _ProgramReader:
    def __init__(self, grid: Grid):
        self.grid = grid
        self.tensors: dict[int, TensorDescription] = {}
        self.known: dict[int, object] = {}  # the raw description, by id

    def tensor(self, value: Fields | None) -> int:
        """Return a TensorRef's id; all references to it must have the same description."""
        if value is None or value["desc"] is None:
            raise Malformed("a tensor is missing, or its description")
        number: int = value["global_id"]
        if number not in self.known:
            self.tensors[number] = _description(value["desc"], self.grid)
            self.known[number] = value["desc"]
        elif self.known[number] is not value["desc"] and self.known[number] != value["desc"]:
            raise Malformed(f"tensor {number} has two descriptions")
        return number

    def step(self, operation: Fields, position: int) -> AnyStep:
        try:
            if operation["type"] is None:
                raise Malformed("it has no type")
            ((table, fields),) = operation["type"].items()
            return self._step(table, fields, operation["debug_info"])
        except (Malformed, ValueError) as error:
            raise Malformed(f"operation {position}: {error}") from None

    def _step(self, table: str, fields: Fields, debug: str) -> AnyStep:
        if table == "DeallocateOp":
            return FreeStep(self.tensor(fields["in"]))
        if table == "GenericOp":
            return self._generic(fields, debug)
        if table == "CreateGlobalSemaphoreOp":
            return SemaphoreStep(_semaphore(fields["out"]))
        if table in ("WhileOp", "CaseOp"):
            inputs, outputs = (
                tuple(self.tensor(each) for each in fields[name]) for name in ("inputs", "outputs")
            )
            return ControlStep(table == "WhileOp", inputs, outputs, tuple(fields["programs"]))
        if not fields:
            raise Malformed(f"{table} is a call of tt-mlir that is not known here")
        output = self.tensor(fields["out"])
        if table == "ConstantOp":
            return self._constant(fields["data"], output)
        row = GRAPH_OPS[fields["type"]] if "type" in fields else _ROWS[table]
        operands = row.table.operands
        given = fields["inputs"] if operands == ("inputs",) else [fields[f] for f in operands]
        inputs = tuple(self.tensor(each) for each in given)
        shape = self.tensors[output].shape
        values = {**fields, "shape": shape}
        attributes = {name: values[name] for name, _ in row.attributes}
        found = row.result_shape([self.tensors[i].shape for i in inputs], attributes)
        if found != shape:
            raise Malformed(f"{row.name} gives a tensor of shape {found}, not {shape}")
        return CallStep(row.name, inputs, output, attributes)

    def _constant(self, data: bytes, output: int) -> CallStep:
        described = self.tensors[output]
        wanted = prod(described.shape) * described.dtype.storage.itemsize
        if len(data) != wanted:
            raise Malformed(f"a constant has {len(data)} bytes, not {wanted}")
        return CallStep("constant", (), output, data=data)

    def _generic(self, fields: Fields, debug: str) -> GenericStep:
        program = fields["program"]
        if program is None or "ProgramDescriptor" not in program:
            raise Malformed("a generic operation without a program for one device")
        return GenericStep(
            tuple(self.tensor(each) for each in fields["io_tensors"]),
            tuple(_semaphore(each["GlobalSemaphoreRef"]) for each in fields["additional_args"]),
            program["ProgramDescriptor"],
            debug,
        )


def _semaphore(value: Fields | None) -> int:
    if value is None:
        raise Malformed("a semaphore is missing")
    number: int = value["global_id"]
    return number


# Tensors ------------------------------------------------------------------------------------------


def _description(value: Fields, grid: Grid) -> TensorDescription:
    shape = tuple(value["shape"])
    if len(shape) > MAX_RANK or any(size < 0 for size in shape):
        raise Malformed(f"{shape} is no shape of a tensor")
    memory = value["layout"] and value["layout"]["memory_desc"]
    if not memory:
        raise Malformed(f"the tensor of shape {shape} has no layout")
    dtype = BY_DATA_FORMAT.get(memory["data_type"])
    if dtype is None:
        raise Malformed(f"tensors of {memory['data_type']} are not known here")
    layout = _layout(memory["tile_shape"])
    if layout is ROW_MAJOR_LAYOUT and dtype.is_block_float:
        raise Malformed(f"{dtype.spelling} exists only in tiles")
    return TensorDescription(shape, dtype, layout, _config(memory, shape, layout, grid))


def _layout(tile: Mapping[str, int] | None) -> Layout:
    sides = (1, 1) if tile is None else (tile["y"], tile["x"])
    if sides == (32, 32):
        return TILE_LAYOUT
    if sides == (1, 1):
        return ROW_MAJOR_LAYOUT
    raise Malformed(f"tiles of {sides[0]}x{sides[1]} are not known here")


def _config(memory: Fields, shape: Shape, layout: Layout, grid: Grid) -> MemoryConfig:
    """Read a memory configuration; any error in it is reported as a malformed file."""
    given = memory["memory_config"]
    if given is None:
        return MemoryConfig()
    place = _BUFFER_TYPES[given["buffer_type"]]
    arranged = _MEMORY_LAYOUTS[given["tensor_memory_layout"]]
    if given["nd_shard_spec"] is not None:
        raise Malformed("shards of many dimensions are not known here")
    try:
        spec = _shard_spec(given["shard_spec"]) if given["shard_spec"] else None
        config = MemoryConfig(arranged, place, spec)
        check_memory_config(config, shape, layout, grid)
    except TTLError as error:
        raise Malformed(error.diagnostics[0].message) from None
    return config


def _shard_spec(value: Fields) -> ShardSpec:
    orientation = {"RowMajor": ShardOrientation.ROW_MAJOR, "ColMajor": ShardOrientation.COL_MAJOR}
    cores = CoreRangeSet([CoreRange(*corners) for corners in rectangles(value["core_range_set"])])
    return ShardSpec(cores, tuple(value["shape"]), orientation[value["orientation"]])


MOST_CORES = 64  # along one side of any chip, and more rectangles than a program needs


def rectangles(value: Fields | None) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the corners of a CoreRangeSet."""
    found = []
    given = value["core_ranges"] if value else ()
    if len(given) > MOST_CORES:
        raise Malformed(f"a set of {len(given)} rectangles of cores")
    for each in given:
        first = (each["start_coord"]["x"], each["start_coord"]["y"])
        last = (each["end_coord"]["x"], each["end_coord"]["y"])
        if first[0] > last[0] or first[1] > last[1] or max(last) >= MOST_CORES:
            raise Malformed(f"there are no cores from {first} to {last}")
        found.append((first, last))
    if not found:
        raise Malformed("a set of cores is missing or empty")
    return found


# Calls --------------------------------------------------------------------------------------------


def check_calls(programs: Sequence[GraphProgram]) -> None:
    """Check that called programs exist, come after the caller, and match the call's tensors."""
    for number, program in enumerate(programs):
        for step in program.steps:
            if isinstance(step, ControlStep):
                _check_call(programs, number, step)


def _check_call(programs: Sequence[GraphProgram], number: int, step: ControlStep) -> None:
    caller = programs[number]
    if any(not number < called < len(programs) for called in step.programs):
        raise Malformed(f"a loop or branch of `{caller.name}` calls a program that is not after it")
    wanted = [programs[called] for called in step.programs]
    inputs, outputs = caller.described(step.inputs), caller.described(step.outputs)
    if step.is_loop:
        if len(wanted) != 2 or inputs[: len(outputs)] != outputs:
            raise Malformed("a loop has a condition and a body, and gives what it is given")
        condition = wanted[0].described(wanted[0].outputs)
        fits = len(condition) == 1 and condition[0].shape == ()
        given = [outputs if each is wanted[1] else condition for each in wanted]
    else:
        fits = bool(wanted and inputs) and inputs[0].shape == () and not inputs[0].dtype.is_float
        given, inputs = [outputs] * len(wanted), inputs[1:]
    for each, results in zip(wanted, given, strict=True):
        fits &= (each.described(each.inputs), each.described(each.outputs)) == (inputs, results)
    if not fits:
        raise Malformed(f"a loop or branch of `{caller.name}` calls programs for other tensors")


# The lives of tensors -----------------------------------------------------------------------------


def _check_lives(program: GraphProgram, memory_bytes: int) -> None:
    lives = _Lives(program.tensors)
    lives.make(program.inputs)
    for step in program.steps:
        match step:
            case CallStep(_, inputs, output):
                lives.use(inputs)
                lives.make((output,))
            case ControlStep(_, inputs, outputs):
                lives.use(inputs)
                lives.make(outputs)
            case GenericStep(tensors, semaphores):
                lives.use(tensors)
                lives.use_semaphores(semaphores)
            case SemaphoreStep(output):
                lives.semaphores.add(output)
            case FreeStep(tensor):
                lives.free(tensor)
    lives.use(program.outputs)
    if lives.peak_bytes > memory_bytes:
        needed = f"its tensors need {lives.peak_bytes} bytes of memory"
        raise TooLarge(f"{needed}, and there are {memory_bytes}")


class TooLarge(Malformed):
    """A program's tensors do not fit in memory at the same time; the file itself is valid."""


class _Lives:
    """Tensors and semaphores that exist at a point of the program."""

    def __init__(self, tensors: Mapping[int, TensorDescription]):
        self.tensors = tensors
        self.live: set[int] = set()
        self.semaphores: set[int] = set()
        self.size_bytes = self.peak_bytes = 0

    def make(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            if number in self.live:
                raise Malformed(f"tensor {number} is made while it exists")
            self.live.add(number)
            self.size_bytes += self.tensors[number].size_bytes
        self.peak_bytes = max(self.peak_bytes, self.size_bytes)

    def use(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            if number not in self.live:
                raise Malformed(f"tensor {number} is used while it does not exist")

    def use_semaphores(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            if number not in self.semaphores:
                raise Malformed(f"semaphore {number} is used and not made")

    def free(self, number: int) -> None:
        self.use((number,))
        self.live.remove(number)
        self.size_bytes -= self.tensors[number].size_bytes
