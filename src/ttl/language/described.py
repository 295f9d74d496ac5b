"""Names for objects of the language in messages, whichever engine's class they have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from ttl.semantics.tensors import TensorSlice

from .arguments import is_tensor
from .block import Block, BlockExpression
from .buffer import DataflowBuffer
from .copies import GroupTransfer
from .operation import Operation
from .pipes import DstPipeIdentity, Pipe, PipeNet, SrcPipeIdentity
from .semaphores import MulticastRemoteSemaphore, Semaphore, UnicastRemoteSemaphore
from .signposts import signpost
from .transfer import Transfer

LONGEST_TEXT = 60  # of a repr() in a message


class PublicClass(NamedTuple):
    """A class as the user knows it; engines have subclasses of their own."""

    type: type
    noun: str
    names: tuple[str, ...]  # the attributes of the language
    instead: dict[str, str] = {}  # noqa: RUF012 - helps for attributes that users may expect


class Described:
    """The base of another DSL's classes, with their nouns for messages."""

    __slots__ = ()

    noun: ClassVar[str]
    names: ClassVar[tuple[str, ...]] = ()
    instead: ClassVar[dict[str, str]] = {}


PUBLIC_CLASSES = (  # a class before its base
    PublicClass(
        Block,
        "a block",
        ("dtype", "layout", "name", "pop", "push", "shape", "store"),
        {
            "T": "write ttl.math.transpose(x)",
            "wait": "wait for what ttl.copy() returns, or for the dataflow buffer",
            "reserve": "reserve() belongs to the dataflow buffer",
        },
    ),
    PublicClass(
        BlockExpression,
        "a block expression",
        ("dtype", "shape"),
        {
            "T": "write ttl.math.transpose(x)",
            "store": "store() belongs to blocks: write block.store(expression)",
        },
    ),
    PublicClass(
        DataflowBuffer,
        "a dataflow buffer",
        (
            "block_count",
            "can_reserve",
            "can_wait",
            "capacity_bytes",
            "capacity_tiles",
            "dtype",
            "free",
            "head",
            "layout",
            "name",
            "pop",
            "publish",
            "push",
            "reserve",
            "reserved",
            "reset",
            "shape",
            "stats",
            "visible",
            "wait",
        ),
    ),
    PublicClass(Transfer, "a transfer", ("can_wait", "is_completed", "wait")),
    PublicClass(GroupTransfer, "a group of transfers", ("add", "wait_all")),
    PublicClass(
        PipeNet, "a pipe net", ("if_dst", "if_src", "is_active", "is_dst", "is_src", "pipes")
    ),
    PublicClass(Pipe, "a pipe", ("dst", "src")),
    PublicClass(SrcPipeIdentity, "a pipe in if_src()", ("dst",)),
    PublicClass(DstPipeIdentity, "a pipe in if_dst()", ("src",)),
    PublicClass(
        Semaphore,
        "a semaphore",
        ("get_remote", "get_remote_multicast", "set", "wait_eq", "wait_ge"),
        {
            "inc": "a semaphore is incremented on a node: semaphore.get_remote(coord).inc(value)",
            "wait": "write wait_eq(value) or wait_ge(value)",
        },
    ),
    PublicClass(UnicastRemoteSemaphore, "a semaphore on another node", ("inc", "set")),
    PublicClass(
        MulticastRemoteSemaphore,
        "a semaphore on several nodes",
        ("set",),
        {"inc": "increment it node by node: semaphore.get_remote(coord).inc(value)"},
    ),
    PublicClass(TensorSlice, "a tensor slice", ("shape",)),
    PublicClass(Operation, "an operation", ()),
    PublicClass(signpost, "a signpost", ()),
)


def _public_classes() -> Iterator[PublicClass]:
    yield from PUBLIC_CLASSES
    for each in Described.__subclasses__():
        yield PublicClass(each, each.noun, each.names, each.instead)


def public_class(value: object) -> PublicClass | None:
    return next((public for public in _public_classes() if isinstance(value, public.type)), None)


def public_classes_by_name() -> dict[str, PublicClass]:
    """Return the public classes by name, also by the engines' names in Python's messages."""
    found: dict[str, PublicClass] = {}
    for public in _public_classes():
        for each in _with_subclasses(public.type):
            found.setdefault(each.__name__, public)
    return found


def _with_subclasses(base: type) -> Iterator[type]:
    yield base
    subclasses: list[type] = base.__subclasses__()
    for subclass in subclasses:
        yield from _with_subclasses(subclass)


BUFFER_HELP = "work on the block that wait() or reserve() of the dataflow buffer returns"
TENSOR_HELP = "copy a part of the tensor into a block: ttl.copy(tensor[0, 0], block)"
ARRAY_HELP = "pass it to the operation as a ttnn tensor, and copy parts of it into blocks"


def help_with(value: object) -> str | None:
    """Return the help for a value in a place that needs a block or a block expression."""
    if isinstance(value, DataflowBuffer):
        return BUFFER_HELP
    if is_tensor(value) or isinstance(value, TensorSlice):
        return TENSOR_HELP
    return ARRAY_HELP if _is_array(value) else None


def _is_array(value: Any) -> bool:
    """Return whether it is an array of numpy, torch or another library."""
    return all(hasattr(value, name) for name in ("shape", "dtype", "ndim")) and value.ndim > 0


def described(value: Any) -> str:
    """Describe a value in a message, without addresses or pages of numbers."""
    if isinstance(value, DataflowBuffer):
        return f"the dataflow buffer `{value.name}`"
    if isinstance(value, Operation):
        return f"the operation {value.__name__}"
    if (public := public_class(value)) is not None:
        return public.noun
    if is_tensor(value):
        return "a whole tensor"
    kind = type(value)
    if _is_array(value):
        library = kind.__module__.partition(".")[0]
        return f"a {library} {kind.__name__} of shape {tuple(value.shape)}"
    if callable(value) and hasattr(value, "__name__"):
        return f"`{value.__name__}`"
    text = repr(value)
    is_short = len(text) <= LONGEST_TEXT and " at 0x" not in text
    return text if is_short else f"a value of type {kind.__name__}"
