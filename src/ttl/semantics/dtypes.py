"""Element types: their widths, their names on the chip, and how values round to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ttl.target.data_formats import PAGE_BYTES, TILE_ELEMENTS

from .block_float import pack, quantise, unpack
from .block_math import stored

Array: TypeAlias = NDArray[Any]  # of np.generic, numpy would refuse arithmetic

_SINGLE = np.dtype(np.float32)


@dataclass(frozen=True, slots=True)
class DType:
    """An element type of tensors and blocks.

    `storage` is the numpy type of tensors. Block floats use float32, limited to values that the
    block float can hold. `carrier` is the type the simulator computes in: float32 for floats, int64
    for integers, which holds sums, products and quotients exactly before they wrap around.
    """

    spelling: str  # in programs: ttnn.bfloat16
    data_format: str  # the chip's name, which artifacts use
    mlir: str
    storage: np.dtype[np.generic] = field(compare=False)
    carrier: np.dtype[np.generic] = field(compare=False)
    mantissa_bits: int = field(default=0, compare=False)  # of block floats only
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(self.name))  # equals the real ttnn type's hash

    @property
    def name(self) -> str:
        """The real ttnn's name of the type."""
        return self.spelling.upper()

    @property
    def value(self) -> int:
        """The real ttnn's number of the type."""
        return _NUMBERS[self.spelling]

    @property
    def is_of_real_ttnn(self) -> bool:
        return self.spelling in _NUMBERS

    def __repr__(self) -> str:
        return f"DataType.{self.name}"

    def __format__(self, spec: str) -> str:
        """Return the spelling in programs, for messages."""
        return format(self.spelling, spec)

    @property
    def is_float(self) -> bool:
        return self.carrier.kind == "f"

    @property
    def is_block_float(self) -> bool:
        return self.mantissa_bits > 0

    @property
    def tile_bytes(self) -> int:
        return PAGE_BYTES[self.data_format]

    @property
    def element_bytes(self) -> int:
        """Bytes of an element in row-major memory, which block floats do not support."""
        return self.storage.itemsize

    @property
    def poison(self) -> float | int:
        """The value of unwritten memory: NaN, or every byte 0xA5."""
        if self.is_float:
            return np.nan
        return int(np.frombuffer(b"\xa5" * self.storage.itemsize, self.storage)[0])

    def __eq__(self, other: object) -> bool:
        """Return whether two types are equal; a DType also equals its type of the real ttnn."""
        if self is other:
            return True
        if isinstance(other, DType):
            return self.name == other.name
        return self is _of_real_ttnn(other)

    def __hash__(self) -> int:
        return self._hash

    def to_bytes(self, tiles: Array) -> NDArray[np.uint8]:
        """Return the page bytes of tiles in chip order, one tile per row."""
        if self.is_block_float:
            return pack(tiles.astype(np.float32, copy=False), self.mantissa_bits)
        stored: Array = np.ascontiguousarray(tiles, self.storage)
        return stored.reshape(len(tiles), -1).view(np.uint8)

    def from_bytes(self, pages: NDArray[np.uint8]) -> Array:
        """Return the elements of pages, one page per row."""
        if self.is_block_float:
            return unpack(pages, self.mantissa_bits, TILE_ELEMENTS)
        return np.ascontiguousarray(pages).view(self.storage)


def _float(name: str, data_format: str, mlir: str, storage: object) -> DType:
    return DType(name, data_format, mlir, np.dtype(storage), np.dtype(np.float32))  # type: ignore[call-overload]


def _block_float(name: str, data_format: str, mantissa_bits: int) -> DType:
    single: np.dtype[np.generic] = np.dtype(np.float32)
    return DType(name, data_format, data_format.lower(), single, single, mantissa_bits)


def _integer(name: str, data_format: str, mlir: str) -> DType:
    return DType(name, data_format, mlir, np.dtype(name), np.dtype(np.int64))


bfloat16 = _float("bfloat16", "BFloat16", "bf16", ml_dtypes.bfloat16)
float16 = _float("float16", "Float16", "f16", np.float16)
float32 = _float("float32", "Float32", "f32", np.float32)
bfloat8_b = _block_float("bfloat8_b", "BFP_BFloat8", mantissa_bits=7)
bfloat4_b = _block_float("bfloat4_b", "BFP_BFloat4", mantissa_bits=3)
int32 = _integer("int32", "Int32", "si32")
uint32 = _integer("uint32", "UInt32", "ui32")
uint16 = _integer("uint16", "UInt16", "ui16")
uint8 = _integer("uint8", "UInt8", "ui8")

DTYPES = {
    dtype.spelling: dtype
    for dtype in (
        bfloat16,
        float16,
        float32,
        bfloat8_b,
        bfloat4_b,
        int32,
        uint32,
        uint16,
        uint8,
    )
}
BY_DATA_FORMAT = {dtype.data_format: dtype for dtype in DTYPES.values()}

_NUMBERS = {
    "bfloat16": 0,
    "float32": 1,
    "uint32": 2,
    "bfloat8_b": 3,
    "bfloat4_b": 4,
    "uint8": 5,
    "uint16": 6,
    "int32": 7,
}

# Integers narrower than a register, and their bits.
NARROW = {uint16: 16, uint8: 8}

_REAL_NAMES = {name.upper(): dtype for name, dtype in DTYPES.items()}


def dtype_of(tensor: object) -> DType:
    """Return the element type of an embedded or a real ttnn tensor."""
    dtype = find_dtype(tensor)
    assert dtype is not None
    return dtype


def find_dtype(value: object) -> DType | None:
    """Return the element type of an embedded or a real ttnn tensor, None for anything else.

    The types of the real ttnn are called BFLOAT16, FLOAT32 and so on, unlike numpy's and torch's.
    """
    dtype = getattr(value, "dtype", None)
    return dtype if isinstance(dtype, DType) else _of_real_ttnn(dtype)


def spacing_at_1(dtype: DType) -> float:
    """Return the distance from 1.0 to the next number; block floats share their exponent."""
    if dtype.is_block_float:
        return 2.0 ** (1 - dtype.mantissa_bits)
    one = np.ones((), dtype.storage)
    return float(np.nextafter(one, 2 * one, dtype=dtype.storage)) - 1.0


def dtype_of_array(values: Array) -> DType | None:
    """Return the element type for a tensor of the array's elements; float64 becomes float32.

    None if there is no such type.
    """
    if values.dtype == np.float64:
        return float32
    return next(
        (
            dtype
            for dtype in DTYPES.values()
            if values.dtype == dtype.storage and not dtype.is_block_float
        ),
        None,
    )


def as_dtype(value: object) -> DType | None:
    """Return the element type that a program names, which may be the real ttnn's or torch's."""
    if isinstance(value, DType):
        return value
    if (type(value).__module__, type(value).__name__) == ("torch", "dtype"):
        return DTYPES.get(str(value).removeprefix("torch."))
    return _of_real_ttnn(value)


def _of_real_ttnn(dtype: object) -> DType | None:
    name = getattr(dtype, "name", None)
    return _REAL_NAMES.get(name) if isinstance(name, str) else None


# How numbers become bfloat16: nearest, ties to even; nearest, ties away from zero; cut off.
Way: TypeAlias = Literal["even", "away", "cut"]


def round_to(values: Array, dtype: DType, by_packer: bool = False, way: Way = "even") -> Array:
    """Round values to `dtype` and return them in its carrier.

    Floats become the nearest float, ties to even; `way` selects how the chip's units round to
    bfloat16. Block floats share exponents along the last axis; the chip's packer rounds their ties
    away from zero. Integers wrap around. A float becomes an integer by dropping its fraction; a
    float too large becomes the largest integer, NaN becomes zero.
    """
    if dtype is float32:
        return values.astype(_SINGLE, copy=False)
    if not dtype.is_float:
        whole = values if values.dtype.kind in "iub" else _to_integers(values, dtype)
        return whole.astype(dtype.storage).astype(dtype.carrier)
    if values.dtype is not _SINGLE:
        values = _to_odd_singles(values)
    if dtype.is_block_float:
        return quantise(values, dtype.mantissa_bits, by_packer)
    if way != "even" and dtype is bfloat16:
        return _to_bfloat16(values, way)
    return values.astype(dtype.storage).astype(_SINGLE)


def _to_bfloat16(values: Array, way: Way) -> Array:
    bits = values.view(np.uint32)
    moved = bits + np.uint32(0x8000) if way == "away" else bits
    moved = np.where(np.isnan(values), bits | np.uint32(0x400000), moved)
    rounded: Array = (moved & np.uint32(0xFFFF0000)).view(np.float32)
    return rounded


TF32_DIGITS = 10
TF32_STEP = 2.0**-TF32_DIGITS  # of numbers from 1 to 2
A_DIGITS = 9  # digits of a factor in source A; no phase of a product uses the last one


def to_tf32(values: Array, digits: int = TF32_DIGITS) -> Array:
    """Cut the mantissa of an f32 to the `digits` that a source of the matrix unit keeps.

    Integers are returned unchanged."""
    if values.dtype != np.float32:
        return values
    mask = np.uint32(0xFFFFFFFF << (23 - digits) & 0xFFFFFFFF)
    kept: Array = (values.view(np.uint32) & mask).view(np.float32)
    return kept


def round_into(array: Array, values: Array, dtype: DType, way: Way = "even") -> None:
    """Round `values` as the packer does, into an array of the storage type of `dtype`."""
    if dtype.is_block_float:  # neighbours share an exponent
        values = np.broadcast_to(values, array.shape)
    if values.dtype is _SINGLE and dtype.is_float and not dtype.is_block_float and way == "even":
        if not stored(values, array):
            array[...] = values  # numpy rounds as round_to() does
    else:
        array[...] = round_to(values, dtype, by_packer=True, way=way)


def _to_odd_singles(values: Array) -> Array:
    """Convert doubles and integers to f32 without double rounding.

    A value that f32 cannot hold becomes its neighbour with an odd mantissa, which is never a tie.
    """
    wide = values.astype(np.float64, copy=False)
    single = wide.astype(np.float32)
    is_even = single.view(np.int32) & 1 == 0
    toward = np.where(wide > single, np.float32(np.inf), np.float32(-np.inf))
    to_move = (wide != single) & is_even & np.isfinite(single)
    return np.where(to_move, np.nextafter(single, toward), single)


def _to_integers(values: Array, dtype: DType) -> Array:
    limits = np.iinfo(dtype.spelling)
    wide = np.nan_to_num(values.astype(np.float64), nan=0.0)
    whole: Array = np.clip(np.trunc(wide), limits.min, limits.max).astype(np.int64)
    return whole


def common_float(one: DType, other: DType) -> DType:
    """Return the smallest float type that holds the values of both."""
    if can_hold(one, other):
        return one
    if can_hold(other, one):
        return other
    return bfloat16 if one.is_block_float and other.is_block_float else float32


def can_hold(dtype: DType, other: DType) -> bool:
    """Return whether rounding to `dtype` keeps every value of `other`."""
    if dtype is other:
        return True
    if dtype is float32:
        return other.is_float
    return dtype is bfloat16 and other.is_block_float
