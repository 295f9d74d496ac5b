"""Compiles a registered operation to its artifact, from descriptions of tensors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ttl.artifact import FORMAT_VERSIONS, to_json
from ttl.driver.specs import TensorSpec, compile_from_spec
from ttl.semantics.dtypes import DTYPES, DType
from ttl.semantics.layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT
from ttl.semantics.tensor_layout import parse_layout
from ttl.ttnn.memory_config import memory_config_of

from .registry import TTLangError, get_registered_operation, no_elements

# The chip has no 64-bit types: such tensors have 32 bits when they reach a kernel.
_DTYPES = {
    "bf16": "bfloat16",
    "f16": "float16",
    "f32": "float32",
    "f64": "float32",
    "i32": "int32",
    "si32": "int32",
    "i64": "int32",
    "si64": "int32",
    "ui32": "uint32",
    "ui64": "uint32",
    "ui16": "uint16",
    "ui8": "uint8",
}
_NOT_ON_CHIP = ("i16", "i8", "i1", "bool")


def resolve_operation(
    *,
    operation_id: str,
    version_tag: str,
    shapes: Sequence[Sequence[int]],
    dtypes: Sequence[str],
    layouts: Sequence[str] = (),
    mesh_shape: Sequence[int] = (1,),
    arg_roles: str | None = None,
    shard_spec: str | None = None,
    format_version: int = 1,
    **_unused: Any,
) -> bytes:
    """The artifact of an operation as JSON, the same bytes for the same arguments.

    KeyError for an id that is not registered, TTLangError for another version of the operation and
    for operands that cannot be described; what is wrong in the operation itself is reported by
    ttl's own errors.
    """
    entry = get_registered_operation(operation_id)
    if entry.version_tag != version_tag:
        raise TTLangError(
            f"operation {operation_id!r} was captured with version_tag {version_tag!r}, registered "
            f"is {entry.version_tag!r}: capture the model again"
        )
    texts = tuple(layouts) or ("",) * len(shapes)
    if not len(shapes) == len(dtypes) == len(texts):
        raise TTLangError(
            f"{len(shapes)} shapes, {len(dtypes)} dtypes and {len(texts)} layouts for operation "
            f"{operation_id!r}: one of each is needed for each operand"
        )
    if format_version not in FORMAT_VERSIONS:
        raise TTLangError(f"format_version is {format_version!r}, and not 1 or 2")
    sizes = tuple(_sizes(shape) for shape in shapes)
    specs = [_spec(*each) for each in zip(sizes, dtypes, texts, strict=True)]
    artifact = to_json(compile_from_spec(entry.impl, specs), format_version)
    artifact["operand_metadata"] = {
        "shapes": [list(shape) for shape in sizes],
        "dtypes": list(dtypes),
        "layouts": list(texts),
        "mesh_shape": [int(size) for size in mesh_shape],
        "arg_roles": arg_roles,
        "shard_spec": shard_spec,
    }
    return json.dumps(artifact).encode("utf-8")


def _sizes(shape: Sequence[int]) -> tuple[int, ...]:
    try:
        return tuple(map(int, shape))
    except (TypeError, ValueError):
        raise TTLangError(f"{shape!r} is no shape of a tensor") from None


def _spec(shape: tuple[int, ...], dtype: str, layout: str) -> TensorSpec:
    element = _dtype(dtype)
    if not layout.strip():
        return TensorSpec(shape, element)
    try:
        parsed = parse_layout(layout)
    except ValueError as error:
        raise TTLangError(f"the layout of an operand cannot be read: {error}") from None
    arrangement = TILE_LAYOUT if parsed.is_tiled else ROW_MAJOR_LAYOUT
    return TensorSpec(shape, element, arrangement, memory_config_of(parsed))


def _dtype(spelling: str) -> DType:
    name = str(spelling).strip().lower()
    if name in _NOT_ON_CHIP:
        raise TTLangError(no_elements(spelling))
    if name not in _DTYPES:
        raise TTLangError(f"unknown element type {spelling!r}; known are {', '.join(_DTYPES)}")
    return DTYPES[_DTYPES[name]]
