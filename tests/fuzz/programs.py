"""Random programs of all kinds, each a file that runs by itself: seed -> text.

The generators are those of the property tests; here they get formats, shapes and meshes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from math import prod
from random import Random
from typing import Any

from differential.compute_programs import ComputeProgram
from differential.compute_programs import stores as store_texts
from differential.test_block_math import compiled_operations
from fuzz.engines import Input, with_tail
from fuzz.numpy_formats import INTEGERS
from op_samples import block_of, numbers_of
from property import test_compiled_expressions as exact
from property.drawn import drawn
from property.left_out_programs import drawn_program
from property.node_programs import ROWS as NODE_ROWS
from property.node_programs import node_program
from property.programs import COLUMNS, PART_COLUMNS, PART_ROWS, ROWS, operation_text, programs
from property.test_expressions import READS_ALL
from property.test_expressions import cases as store_cases
from property.unified_programs import Maker
from ttl.semantics.dtypes import DTYPES
from ttl.semantics.ops import Domain

FLOATS = ("float32", "bfloat16", "float16", "bfloat8_b", "bfloat4_b")
ALL_TYPES = (*FLOATS, *INTEGERS)
SHAPES = [(1, 1), (1, 2), (2, 2), (1, 5), (3, 3)]
NODE_COLUMNS = 6
MESHES = ((1, 2), (2, 1), (2, 2))
Text = str
# Read and stored in types that exact.FORMATS has not.
OTHER_FLOATS = [(DTYPES[name], "", DTYPES[name]) for name in FLOATS[2:]]


def of_expressions(seed: int) -> Text:
    """Operations that the op table calls exact, of all formats, floats and integers."""
    random = Random(seed)
    if random.random() < 0.25:
        return _of_integers(random, seed)
    texts = drawn(exact.DEPTHS.flatmap(lambda d: exact.expressions(d, exact.LEAVES)), 6, seed)
    dtype, options, out_dtype = random.choice(exact.FORMATS)
    b_dtype = None
    if random.random() < 0.4:
        options, (dtype, b_dtype) = "", random.choice(exact.MIXED)
        out_dtype = random.choice(exact.FLOATS)
    shape = random.choice(SHAPES[:3] if dtype is not out_dtype else SHAPES)
    body = store_texts([*random.sample(texts, 3), "a_blk + b_blk"])
    program = ComputeProgram(body, shape, 1, 4, options, dtype, out_dtype, b_dtype)
    return _computed(program, (-1024, 1024, 512))


def _of_integers(random: Random, seed: int) -> Text:
    texts = drawn(exact.DEPTHS.flatmap(exact.whole_expressions), 4, seed)
    dtype, (low, high) = random.choice(exact.WHOLE_FORMATS)
    program = ComputeProgram(store_texts([*texts, "a_blk + b_blk"]), (1, 2), 1, 5, dtype=dtype)
    return _computed(program, (low, high, 1))


def of_functions(seed: int) -> Text:
    """Functions that have a bound, of operands that are exact."""
    random = Random(seed)
    known = [op for op in compiled_operations() if op.bound and op.domain is not Domain.INTEGERS]
    texts = []
    for op in random.sample(known, 5):
        blocks = [f"{block_of(op)}_blk", "b_blk"][: op.operands]
        forms = ("{}", "({} * 0.5)", "({} - 0.125)", "ttl.math.abs({})")
        operands = [random.choice(forms).format(each) for each in blocks]
        numbers = [f"{name}={value}" for name, value in numbers_of(op).items()]
        if op.operator and op.operands == 2:
            texts.append(f"({operands[0]} {op.operator} {operands[1]})")
        else:
            texts.append(f"ttl.math.{op.name}({', '.join([*operands, *numbers])})")
    dtype, options, out_dtype = random.choice([*exact.FORMATS, *OTHER_FLOATS])
    body = store_texts([*texts, "a_blk + b_blk"])
    program = ComputeProgram(body, (1, 2), 1, 6, options, dtype, out_dtype)
    return _computed(program, (-2048, 2048, 512), (51, 487, 512), is_exact=False)


def _computed(
    program: ComputeProgram, values: Any, b_values: Any = None, is_exact: bool = True
) -> Text:
    rows, columns = (size * 32 for size in program.shape)
    names = [_name(each) for each in (program.dtype, program.b_dtype or program.dtype)]
    out = _name(program.out_dtype or program.dtype)
    inputs: list[Input] = [
        ((rows * program.steps, columns), names[0], *values),
        ((rows * program.steps, columns), names[1], *(b_values or values)),
        ((columns, columns), names[1], *values),
        ((rows * program.count, columns), out, 0, 2, 1),
    ]
    return with_tail(program.text(), inputs, is_exact)


def _name(dtype: Any) -> str:
    return str(dtype.name).lower()


def of_stores(seed: int) -> Text:
    """Products, exp and loops that carry a value; blocks of several shapes."""
    case = drawn(store_cases(3), 4, seed)[-1]
    case = replace(case, stored=(*case.stored, READS_ALL[case.has_product]))
    rows, columns = (size * 32 for size in case.shape)
    shapes = [(rows, columns), (rows, columns), (columns, columns)]
    random = Random(seed)
    dtype, out_dtype = case.dtype, case.out_dtype
    if random.random() < 0.5:
        dtype, out_dtype = random.choice(FLOATS), random.choice(FLOATS)
    inputs: list[Input] = [(shape, dtype, -512, 512, 512) for shape in shapes]
    inputs.append(((rows * len(case.stored), columns), out_dtype, 0, 2, 1))
    return with_tail(case.text(), inputs, exact=False)


def of_programs(seed: int) -> Text:
    """Loops, branches and scalars around blocks."""
    random = Random(seed)
    parts = drawn(programs(), 8, seed)[-random.choice((1, 2, 3)) :]
    grid = random.choice(((1, 1), (2, 1)))
    y = (PART_ROWS * len(parts) * prod(grid) * 32, PART_COLUMNS * 32)
    return with_tail(operation_text(parts, grid), _of_any_type(seed, (ROWS * 32, COLUMNS * 32), y))


def _of_any_type(seed: int, *shapes: tuple[int, int], most: int = 5) -> list[Input]:
    """All tensors of one of the element types."""
    dtype = Random(seed).choice(ALL_TYPES)
    low = 0 if dtype.startswith("uint") else 1 - most
    *read, written = shapes
    return [*((shape, dtype, low, most, 1) for shape in read), (written, dtype, 0, 1, 1)]


def of_nodes(seed: int) -> Text:
    """Pipes and semaphores; some of them hang."""
    width = NODE_COLUMNS * 32
    a, y = (NODE_ROWS * 32, width), (2 * NODE_ROWS * 32, width)
    return with_tail(node_program(seed), _of_any_type(seed, a, y, most=99))


def of_unified(seed: int, mesh: tuple[int, int] | None = None) -> Text:
    program = Maker(seed).program()
    dtype = Random(seed).choice(FLOATS)
    inputs: list[Input] = [((32 * program.rows, 64), dtype, -256, 256, 512)] * 3
    return with_tail(program.unified(), inputs, mesh=mesh)


def of_left_out(seed: int, mesh: tuple[int, int] | None = None) -> Text:
    """Releases and waits that are left to the language."""
    program = drawn_program(seed)
    shape = (32, 32 * program.tiles)
    return with_tail(program.left_out, _of_any_type(seed, shape, shape, most=99), mesh=mesh)


def of_meshes(seed: int) -> Text:
    """The same program on every device, or a grid with the mesh in it."""
    random = Random(seed)
    kind = random.randrange(3)
    if kind == 0:
        return of_unified(seed, random.choice(MESHES))
    if kind == 1:
        return of_left_out(seed, random.choice(MESHES))
    text = of_nodes(seed)
    form = random.choice((r"grid=(\1, \2, 1)", r"grid=(\1, 1, \2)"))
    return re.sub(r"grid=\((\d), (\d)\)", form, text)


RIGHT: dict[str, Callable[[int], Text]] = {
    "expressions": of_expressions,
    "functions": of_functions,
    "stores": of_stores,
    "programs": of_programs,
    "nodes": of_nodes,
    "unified": of_unified,
    "left-out": of_left_out,
    "meshes": of_meshes,
}
