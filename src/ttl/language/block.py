"""Block expressions and blocks."""

from __future__ import annotations

from math import prod
from types import TracebackType
from typing import Any, ClassVar, Final, NoReturn, TypeAlias

from ttl.diagnostics import RuleBroken, codes
from ttl.semantics.dtypes import DType
from ttl.semantics.layout import Layout
from ttl.semantics.ops import BLOCK_OPS, BY_OPERATOR, NO_PARAMETERS, BlockOp, bind
from ttl.semantics.types import BlockType, Shape

from .engine import Engine, engine, running_engine

# A block, an expression or a number. Compiled code would refuse others before the engine explains.
Operand: TypeAlias = Any

# Looked up once: kernels call operators most.
ADD: Final = BY_OPERATOR["+"]
SUB: Final = BY_OPERATOR["-"]
MUL: Final = BY_OPERATOR["*"]
TRUEDIV: Final = BY_OPERATOR["/"]
MOD: Final = BY_OPERATOR["%"]
FLOORDIV: Final = BY_OPERATOR["//"]
XOR: Final = BY_OPERATOR["^"]
MATMUL: Final = BY_OPERATOR["@"]
LT: Final = BY_OPERATOR["<"]
LE: Final = BY_OPERATOR["<="]
GT: Final = BY_OPERATOR[">"]
GE: Final = BY_OPERATOR[">="]
EQ: Final = BY_OPERATOR["=="]
NE: Final = BY_OPERATOR["!="]


def _binary(sign: str, op: BlockOp, left: object, right: object) -> BlockExpression:
    running: Engine | None = running_engine(None)
    if running is None:
        running = engine(sign)
    return running.binary(op, left, right)


def _product(left: object, right: object) -> BlockExpression:
    made = _binary("@", MATMUL, left, right)
    made.is_product = True
    return made


class BlockExpression:
    """A value made of tiles: a block that is read, or the result of an operator or function."""

    __slots__ = ("is_product", "type")

    is_product: bool  # set on the value of `a @ b` only

    def __init__(self, type: BlockType):
        self.type = type

    @property
    def shape(self) -> Shape | None:
        return self.type.shape

    @property
    def dtype(self) -> DType | None:
        return self.type.dtype

    def __add__(self, other: Operand) -> BlockExpression:
        return _binary("+", ADD, self, other)

    def __radd__(self, other: object) -> BlockExpression:
        return _binary("+", ADD, other, self)

    def __sub__(self, other: Operand) -> BlockExpression:
        return _binary("-", SUB, self, other)

    def __rsub__(self, other: object) -> BlockExpression:
        return _binary("-", SUB, other, self)

    def __mul__(self, other: Operand) -> BlockExpression:
        return _binary("*", MUL, self, other)

    def __rmul__(self, other: object) -> BlockExpression:
        return _binary("*", MUL, other, self)

    def __truediv__(self, other: Operand) -> BlockExpression:
        return _binary("/", TRUEDIV, self, other)

    def __rtruediv__(self, other: object) -> BlockExpression:
        return _binary("/", TRUEDIV, other, self)

    def __mod__(self, other: Operand) -> BlockExpression:
        return _binary("%", MOD, self, other)

    def __rmod__(self, other: object) -> BlockExpression:
        return _binary("%", MOD, other, self)

    def __floordiv__(self, other: Operand) -> BlockExpression:
        return _binary("//", FLOORDIV, self, other)

    def __rfloordiv__(self, other: object) -> BlockExpression:
        return _binary("//", FLOORDIV, other, self)

    def __xor__(self, other: Operand) -> BlockExpression:
        return _binary("^", XOR, self, other)

    def __rxor__(self, other: object) -> BlockExpression:
        return _binary("^", XOR, other, self)

    def __matmul__(self, other: Operand) -> BlockExpression:
        return _product(self, other)

    def __rmatmul__(self, other: object) -> BlockExpression:
        return _product(other, self)

    def __lt__(self, other: object) -> BlockExpression:
        return _binary("<", LT, self, other)

    def __le__(self, other: object) -> BlockExpression:
        return _binary("<=", LE, self, other)

    def __gt__(self, other: object) -> BlockExpression:
        return _binary(">", GT, self, other)

    def __ge__(self, other: object) -> BlockExpression:
        return _binary(">=", GE, self, other)

    def __eq__(self, other: object) -> BlockExpression:  # type: ignore[override]
        return _binary("==", EQ, self, other)

    def __ne__(self, other: object) -> BlockExpression:  # type: ignore[override]
        return _binary("!=", NE, self, other)

    def __pow__(self, n: Operand) -> BlockExpression:
        running, op = engine("**"), BY_OPERATOR["**"]
        operands, parameters = bind(op, (self, n), {})
        return running.apply(op, operands, parameters)

    def __rpow__(self, base: object) -> NoReturn:
        raise block_as_exponent()

    def __neg__(self) -> BlockExpression:
        return engine("-").apply(BLOCK_OPS["neg"], (self,), NO_PARAMETERS)

    def __abs__(self) -> BlockExpression:
        return engine("abs()").apply(BLOCK_OPS["abs"], (self,), NO_PARAMETERS)

    # Makes numpy use our operators instead of working elementwise.
    __array_ufunc__: ClassVar[object] = None

    def __hash__(self) -> int:
        return id(self)  # a value is itself; `==` compares elements

    def __bool__(self) -> bool:
        raise truth_of_block()


# What blocks cannot do, for every engine ----------------------------------------------------------


def block_as_exponent() -> RuleBroken:
    return codes.BLOCK_IN_PYTHON.broken(
        "a block cannot be an exponent",
        "write ttl.math.exp2(x) for 2 ** x, else ttl.math.exp(x * the logarithm of the base)",
    )


def truth_of_block() -> RuleBroken:
    return codes.BLOCK_IN_PYTHON.broken(
        "a block has as many truth values as elements, not one",
        "choose between elements with ttl.math.where(c, a, b), or ttl.math.max(a, b)",
    )


def not_in_place(symbol: str) -> RuleBroken:
    """Describe `block *= value`, which would rebind the name and leave the block unchanged."""
    return codes.BLOCK_IN_PYTHON.broken(
        f"a block is not changed by {symbol}=, only by += and store()",
        f"write block.store(block {symbol} value)",
    )


class Block(BlockExpression):
    """Space for one block in a dataflow buffer, held by a kernel until its release.

    The end of a `with` releases it: a reserved block is pushed, a waited one popped.
    """

    __slots__ = ()

    @property
    def layout(self) -> Layout:
        return self.type.layout

    @property
    def name(self) -> str:
        """The name of its dataflow buffer."""
        raise NotImplementedError

    def __len__(self) -> int:
        """Return the number of tiles, or of elements if the block is row-major."""
        return prod(self.type.shape or ())

    def store(self, value: BlockExpression, *, acc: bool = False) -> None:
        """Compute kernels: write an expression's value into the block; `acc` adds, like `+=`."""
        raise NotImplementedError

    def __iadd__(self, value: Operand) -> Block:
        """Add to a reserved block's running sum, rounded at its end; else `store(self + value)`."""
        engine("+=").accumulate(self, value)
        return self

    def __isub__(self, value: Operand) -> NoReturn:
        raise not_in_place("-")

    def __imul__(self, value: Operand) -> NoReturn:
        raise not_in_place("*")

    def __itruediv__(self, value: Operand) -> NoReturn:
        raise not_in_place("/")

    def __imatmul__(self, value: Operand) -> NoReturn:
        raise not_in_place("@")

    def __imod__(self, value: Operand) -> NoReturn:
        raise not_in_place("%")

    def __ifloordiv__(self, value: Operand) -> NoReturn:
        raise not_in_place("//")

    def __ipow__(self, value: Operand) -> NoReturn:
        raise not_in_place("**")

    def __ixor__(self, value: Operand) -> NoReturn:
        raise not_in_place("^")

    def push(self) -> None:
        """Hand a reserved block to the consumer."""
        raise NotImplementedError

    def pop(self) -> None:
        """Return the space of a waited block to the producer."""
        raise NotImplementedError

    def release(self) -> None:
        """Push or pop the block, as the end of `with` does."""
        raise NotImplementedError

    def __enter__(self) -> Block:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.release()
