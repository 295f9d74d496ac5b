"""Threads of a pykernel program: their parameters, and checks of their bodies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import Parameter as Kinds
from types import FunctionType
from typing import Any

from ttl.diagnostics import Code, Diagnostic, Span, codes
from ttl.language.operation import KernelFunction
from ttl.semantics.kernel_kinds import KernelKind
from ttl.source import tree
from ttl.source.bindings import Around, Binding
from ttl.source.functions import MISSING, find_value
from ttl.source.python import as_text
from ttl.source.trees import tree_of
from ttl.source.walking import own_nodes, walk

from .bodies import ACQUIRING, SCOPE, with_scopes, without_updates
from .broadcasts import SPREAD, find_undecided, once_of, spread, with_broadcasts
from .mistakes import WrongType, diagnostic
from .objects import STREAMS, BlockScope, Stream
from .older import OWN, modernize_thread

ANNOTATIONS = {
    "CircularBuffer": "cb",
    "TensorBlock": "cb",
    "Semaphore": "semaphore",
    "Tensor": "cb",  # of the older spelling
}
OLDER = "Tensor"
PLAIN = Kinds.POSITIONAL_OR_KEYWORD


@dataclass(frozen=True, slots=True)
class ThreadFunction:
    """A function decorated with @compute() or @datamovement()."""

    kind: KernelKind
    function: FunctionType
    definition: tree.Function
    # `cb` or `semaphore`, by parameter
    kinds: Mapping[str, str | None] = field(compare=False)
    verbose: bool = False
    # Names that its tree has beside its own.
    names: Mapping[str, object] = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def is_compute(self) -> bool:
        return self.kind is KernelKind.COMPUTE

    @property
    def parameters(self) -> list[tree.Parameter]:
        """Return the parameters without `*` or `**`."""
        return [each for each in self.definition.parameters if each.kind == PLAIN]

    @property
    def names_of_parameters(self) -> list[str]:
        return [each.variable.name for each in self.parameters]

    @property
    def buffers(self) -> list[str]:
        return [name for name in self.names_of_parameters if self.kinds[name] == "cb"]

    @property
    def semaphores(self) -> list[str]:
        return [name for name in self.names_of_parameters if self.kinds[name] == "semaphore"]

    def span(self, node: tree.Node) -> Span:
        return Span.of_node(self.function.__code__.co_filename, node)

    def mistake(
        self, node: tree.Node, text: str, help_text: str, code: Code = codes.WRONG_ARGUMENT
    ) -> Diagnostic:
        return diagnostic(text, help_text, self.span(node), code)

    def captures(self) -> dict[str, object]:
        """The captured variables that have a value."""
        return {**self.names, **KernelFunction(self.kind, self.function).captures()}

    @property
    def nodes(self) -> Iterator[tree.Node]:
        """Yield all nodes of its body."""
        return walk(*self.definition.body)

    @property
    def stores(self) -> bool:
        return any(isinstance(n, tree.Attribute) and n.name == "store" for n in self.nodes)

    def calls_on(self, parameter: str) -> set[str]:
        """The methods that the thread calls on a parameter."""
        return {
            node.name
            for node in self.nodes
            if isinstance(node, tree.Attribute) and self.parameter(node.owner) == parameter
        }

    def parameter(self, node: tree.Node) -> str | None:
        """Return the parameter that a name means, or None."""
        binding = node.binding if isinstance(node, tree.Name) else None
        is_own = any(each.variable is binding for each in self.parameters)
        return binding.name if binding is not None and is_own else None

    def acquired(self, node: tree.Node, *methods: str) -> str | None:
        """Return the buffer of `name.pop()` or `name.reserve()`, or None."""
        if not isinstance(node, tree.Call) or node.method not in (methods or ACQUIRING):
            return None
        assert isinstance(node.function, tree.Attribute)
        name = self.parameter(node.function.owner)
        return name if name in self.buffers else None

    def values_of(self, node: tree.Expression) -> list[tree.Expression]:
        """List the values assigned to a variable; any other expression is its own value."""
        if not isinstance(node, tree.Name):
            return [node]
        found = [value for each in self.nodes for value in _given(each, node.binding)]
        return found or [node]

    @property
    def names_around(self) -> list[tree.Name]:
        names = [node for node in self.nodes if isinstance(node, tree.Name)]
        return [node for node in names if isinstance(node.binding, Around)]


def _given(node: tree.Node, binding: Binding) -> Iterator[tree.Expression]:
    for target in node.targets if isinstance(node, tree.Assign) else ():
        assert isinstance(node, tree.Assign)
        pairs = [(target, node.value)]
        if isinstance(target, tree.Sequence) and isinstance(node.value, tree.Sequence):
            pairs = list(zip(target.items, node.value.items, strict=False))
        yield from (v for t, v in pairs if isinstance(t, tree.Target) and t.binding is binding)


def make_thread(
    kind: KernelKind, function: Any, verbose: bool, span: Span | None
) -> ThreadFunction:
    found = tree_of(function) if isinstance(function, FunctionType) else None
    if found is None or found.is_lambda:
        text = f"the source of {getattr(function, '__name__', function)!r} is not available"
        help_text = "write the thread as a function in a file"
        raise WrongType(diagnostic(text, help_text, span, codes.NO_SOURCE))
    written = {each.variable.name: _annotation(each, function) for each in found.parameters}
    if OLDER in written.values():
        found = modernize_thread(found, {name for name in written if written[name] == OLDER})
    kinds = {name: ANNOTATIONS.get(word) for name, word in written.items()}
    return ThreadFunction(kind, function, without_updates(found), kinds, verbose)


def _annotation(parameter: tree.Parameter, function: FunctionType) -> str:
    """Return the name of the class, also through an alias such as `CB = CircularBuffer`."""
    node = parameter.annotation
    word = ""
    if isinstance(node, tree.Constant):
        word = str(node.value)
    elif node is not None:
        word = as_text(node)
    word = word.rpartition(".")[2]
    if word in ANNOTATIONS or not word.isidentifier():
        return word
    found = function.__annotations__.get(parameter.variable.name)
    found = function.__globals__.get(found) if isinstance(found, str) else found
    is_ours = getattr(found, "__module__", "").startswith("pykernel.")
    return getattr(found, "__name__", "") if is_ours else word


def bind_thread(thread: ThreadFunction, tensors: Sequence[object]) -> ThreadFunction:
    """Rewrite a thread for a call with these tensors, as both backends evaluate it."""
    thread = _reading_own_parts(thread, tensors)
    shapes = [tuple(getattr(tensor, "shape", ())) for tensor in tensors]
    pairs = zip(thread.names_of_parameters, shapes, strict=False)
    known = {name: once_of(shape) for name, shape in pairs if shape}
    found = with_broadcasts(thread.definition, thread.function, known)
    found = with_scopes(found, thread.names_of_parameters)
    names = {**thread.names, SPREAD: spread, SCOPE: BlockScope}
    return replace(thread, definition=found, names=names)


def _reading_own_parts(thread: ThreadFunction, tensors: Sequence[object]) -> ThreadFunction:
    """Bind unnamed streams of tensors in the older spelling: see older.py, rule OWN."""
    used = {node.binding.name for node in thread.names_around}
    pairs = zip(thread.names_of_parameters, tensors, strict=False)
    found = {OWN + name: tensor for name, tensor in pairs if OWN + name in used}
    return replace(thread, names={name: _stream(tensor) for name, tensor in found.items()})


def _stream(tensor: object) -> Stream:
    made = (each for each in STREAMS.get() if each.argument is tensor)
    return next(made, None) or Stream(tensor)


# Checks -------------------------------------------------------------------------------------------


def check_threads(threads: Sequence[ThreadFunction]) -> None:
    """Raise WrongType with every mistake in the threads before they run."""
    found = [mistake for thread in threads for check in CHECKS for mistake in check(thread)]
    if not found:
        found = [mistake for each in threads for mistake in _different(each, threads[0])]
    if found:
        raise WrongType(*found)


def _annotations(thread: ThreadFunction) -> Iterator[Diagnostic]:
    for each in thread.definition.parameters:
        name = each.variable.name
        if each.kind != PLAIN:
            what = "is not a plain one"
        elif each.annotation is None:
            what = "has no annotation"
        elif thread.kinds[name] is None:
            what = f"is annotated `{as_text(each.annotation)}`"
        else:
            continue
        text = f"parameter `{name}` of thread `{thread.name}` {what}"
        help_text = "write `name: CircularBuffer` for each tensor, then `name: Semaphore`"
        yield thread.mistake(each, text, help_text)


def _captures(thread: ThreadFunction) -> Iterator[Diagnostic]:
    for name, value in thread.captures().items():
        if isinstance(value, Stream) or type(value) is int:
            continue
        place = next(n for n in thread.names_around if n.binding.name == name)
        text = f"thread `{thread.name}` captures `{name}`, a {type(value).__name__}"
        help_text = "threads capture integers and streams: write Stream(tensor) for a tensor"
        yield thread.mistake(place, text, help_text)


def _unknown_names(thread: ThreadFunction) -> Iterator[Diagnostic]:
    """Report names without a value, each once."""
    first: dict[str, tree.Name] = {}
    for node in thread.names_around:
        first.setdefault(node.binding.name, node)
    for name, node in first.items():
        if name[0] == "." or find_value(name, thread.function) is not MISSING:
            continue
        help_text = "give it a value before the thread, or pass it as a parameter"
        if name.endswith("_stream"):
            help_text = f"write {name} = Stream({name.removesuffix('_stream')}) before the thread"
        text = f"`{name}` is not defined in thread `{thread.name}`"
        yield thread.mistake(node, text, help_text, codes.UNKNOWN_NAME)


def _handed_on(thread: ThreadFunction) -> Iterator[Diagnostic]:
    """Report buffers passed on: only methods called by name show who fills and empties them."""
    functions = [node.function for node in thread.nodes if isinstance(node, tree.Call)]
    owners = {node.owner for node in functions if isinstance(node, tree.Attribute)}
    for node in thread.nodes:
        if node not in owners and (name := thread.parameter(node)) is not None:
            text = f"parameter `{name}` of thread `{thread.name}` is passed on"
            help_text = f"call its methods where they are needed: {name}.pop()"
            yield thread.mistake(node, text, help_text)


def _arguments(thread: ThreadFunction) -> Iterator[Diagnostic]:
    """Report arguments of pop() and reserve(), which take one block."""
    for node in thread.nodes:
        if isinstance(node, tree.Call) and node.given and thread.acquired(node) is not None:
            text = f"`{as_text(node)}`: {node.method}() takes no argument"
            help_text = "a block is the core's part of the tensor; take them one by one"
            yield thread.mistake(node, text, help_text)


def _broadcasts(thread: ThreadFunction) -> Iterator[Diagnostic]:
    for node in find_undecided(thread.definition, thread.function):
        text = f"`{as_text(node)}` calculates with a column of values on one path only"
        help_text = "write bcast(column, block) for what rowmax() or rowsum() gives"
        yield thread.mistake(node, text, help_text, codes.SHAPE_MISMATCH)


def _stores_to_inputs(thread: ThreadFunction) -> Iterator[Diagnostic]:
    """Report stores into blocks of pop(), unless it is the output, which is reserved first."""
    for node in thread.nodes:
        if not (isinstance(node, tree.Attribute) and node.name == "store"):
            continue
        owners = [thread.acquired(value, "pop") for value in thread.values_of(node.owner)]
        if all(each is not None and "reserve" not in thread.calls_on(each) for each in owners):
            text = f"`{as_text(node)}()` writes a block that pop() gave to read"
            yield thread.mistake(node, text, "store into a block of reserve()", codes.BLOCK_STATE)


def _syntax(thread: ThreadFunction) -> Iterator[Diagnostic]:
    for node in own_nodes(thread.definition):
        if (keyword := _refused(node)) is not None:
            text = f"`{keyword}` in thread `{thread.name}`"
            help_text = "threads have assignments, calls, for over range(...), if and else"
            yield thread.mistake(node, text, help_text, codes.NOT_IN_KERNELS)


_REFUSED: dict[type[tree.Node], str] = {
    tree.Return: "return",
    tree.While: "while",
    tree.With: "with",
    tree.Try: "try",
}


def _refused(node: tree.Node) -> str | None:
    if isinstance(node, tree.Function):
        return "lambda" if node.is_lambda else "async def" if node.is_async else "def"
    if isinstance(node, tree.Jump) or (isinstance(node, tree.Suspend) and node.kind == "yield"):
        return node.kind
    return _REFUSED.get(type(node))


def _different(thread: ThreadFunction, first: ThreadFunction) -> Iterator[Diagnostic]:
    if [*thread.kinds.values()] != [*first.kinds.values()]:
        text = f"threads `{first.name}` and `{thread.name}` have different parameters"
        help_text = "all threads take the same circular buffers, then the same semaphores"
        yield thread.mistake(thread.definition, text, help_text)


CHECKS = (
    _annotations,
    _captures,
    _unknown_names,
    _syntax,
    _broadcasts,
    _handed_on,
    _arguments,
    _stores_to_inputs,
)
