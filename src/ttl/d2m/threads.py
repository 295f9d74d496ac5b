"""The threads of a pykernel program: what they are, what may stand in them, how they are run.

A thread is run recompiled:
rule SCOPE   each body (of the thread, a loop, a branch) is a `with` that releases the blocks which
             pop() and reserve() acquired in it
rule PRODUCT `block.store(value)` adds if its value is that of `a @ b`
rule SPREAD  what has one value for a row or a column is repeated: see broadcasts.py
rule MOVE    the thread fills and empties the buffers that are a core's part of a tensor
All of it has the lines of the user's code; the names it needs start with a dot.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any

from ttl.diagnostics import Diagnostic, Span, codes
from ttl.language.operation import KernelFunction
from ttl.semantics.function_source import Definition, function_tree
from ttl.semantics.kernel_kinds import KernelKind
from ttl.source.functions import MISSING, named_value
from ttl.source.name_uses import uses_of_names
from ttl.source.recompile import at, compiled, method_call, with_names

from .broadcasts import ACQUIRING, SPREAD, once_of, spread, undecided, with_broadcasts
from .mistakes import WrongType, diagnostic
from .objects import STREAMS, Scope, Stream
from .older import OWN, in_todays_spelling, is_older

SCOPE, COUNTERS, ITERATIONS, CALLED = ".scope", ".counters", ".iterations", ".called"
ANNOTATIONS = {
    "CircularBuffer": "cb", "TensorBlock": "cb", "Semaphore": "semaphore",
    "Tensor": "cb",  # of the older spelling
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Thread:
    """A function decorated with @compute() or @datamovement()."""

    kind: KernelKind
    function: FunctionType
    tree: Definition
    verbose: bool = False
    # Those that its tree has, beside its own.
    names: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def is_compute(self) -> bool:
        return self.kind is KernelKind.COMPUTE

    @property
    def parameters(self) -> list[ast.arg]:
        return self.tree.args.args

    def span(self, node: ast.AST) -> Span:
        return Span.of_node(self.function.__code__.co_filename, node)

    def captures(self) -> dict[str, Any]:
        """The captured variables that have a value."""
        return {**self.names, **KernelFunction(self.kind, self.function).captures()}

    @property
    def nodes(self) -> list[ast.AST]:
        """All of its body."""
        return [node for statement in self.tree.body for node in ast.walk(statement)]

    @property
    def stores(self) -> bool:
        nodes = ast.walk(self.tree)
        return any(isinstance(node, ast.Attribute) and node.attr == "store" for node in nodes)

    def calls_on(self, parameter: str) -> set[str]:
        """The methods that the thread calls on a parameter."""
        return uses_of_names(self.tree).get(parameter, set())


def make_thread(kind: KernelKind, function: Any, verbose: bool, span: Span | None) -> Thread:
    tree = function_tree(function.__code__) if isinstance(function, FunctionType) else None
    if not isinstance(tree, Definition):
        text = f"the source of {getattr(function, '__name__', function)!r} is not available"
        help_text = "write the thread as a function in a file"
        raise WrongType(diagnostic(text, help_text, span, codes.NO_SOURCE))
    for argument in tree.args.args:
        _name_annotation(argument, function)
    if is_older(tree):
        tree = in_todays_spelling(tree)
    return Thread(kind, function, tree, verbose)


def _name_annotation(argument: ast.arg, function: FunctionType) -> None:
    """`CB = CircularBuffer` is another name of the same."""
    if argument.annotation is None or kind_of(argument) is not None:
        return
    found = function.__annotations__.get(argument.arg)
    if isinstance(found, str):
        found = function.__globals__.get(found)
    name = getattr(found, "__name__", "")
    if name in ANNOTATIONS and getattr(found, "__module__", "").startswith("ttl."):
        argument.annotation = ast.copy_location(ast.Name(name, ast.Load()), argument.annotation)


# Checks -------------------------------------------------------------------------------------------


def check_threads(threads: Sequence[Thread]) -> None:
    """WrongType with everything that is wrong with the threads before they run."""
    found = [mistake for thread in threads for check in CHECKS for mistake in check(thread)]
    if not found:
        found = list(_different(threads))
    if found:
        raise WrongType(*found)


def kind_of(argument: ast.arg) -> str | None:
    """`cb` or `semaphore`, by the annotation."""
    annotation = argument.annotation
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return ANNOTATIONS.get(annotation.value.rpartition(".")[2])
    if isinstance(annotation, ast.Attribute):
        return ANNOTATIONS.get(annotation.attr)
    return ANNOTATIONS.get(annotation.id) if isinstance(annotation, ast.Name) else None


def _annotations(thread: Thread) -> Iterator[Diagnostic]:
    help_text = "write `name: CircularBuffer` for each tensor, then `name: Semaphore`"
    others = thread.tree.args
    for extra in (others.vararg, others.kwarg, *others.kwonlyargs, *others.posonlyargs):
        if extra is not None:
            text = f"parameter `{extra.arg}` of thread `{thread.name}` is not a plain one"
            yield diagnostic(text, help_text, thread.span(extra))
    for argument in thread.parameters:
        if argument.annotation is None:
            text = f"parameter `{argument.arg}` of thread `{thread.name}` has no annotation"
            yield diagnostic(text, help_text, thread.span(argument))
        elif kind_of(argument) is None:
            text = (
                f"parameter `{argument.arg}` of thread `{thread.name}` is annotated "
                f"`{ast.unparse(argument.annotation)}`"
            )
            yield diagnostic(text, help_text, thread.span(argument))


def _captures(thread: Thread) -> Iterator[Diagnostic]:
    for name, value in thread.captures().items():
        if isinstance(value, Stream) or type(value) is int:
            continue
        place = next(n for n in ast.walk(thread.tree) if isinstance(n, ast.Name) and n.id == name)
        text = f"thread `{thread.name}` captures `{name}`, a {type(value).__name__}"
        help_text = "threads capture integers and streams: write Stream(tensor) for a tensor"
        yield diagnostic(text, help_text, thread.span(place))


def _unknown_names(thread: Thread) -> Iterator[Diagnostic]:
    """Names that nobody has given a value, each once."""
    code = thread.function.__code__
    seen = {*code.co_varnames, *code.co_cellvars, *thread.names}
    for node in thread.nodes:
        if not isinstance(node, ast.Name) or node.id in seen or node.id[0] == ".":
            continue
        seen.add(node.id)
        if named_value(node.id, thread.function) is MISSING:
            yield _unknown(thread, node)


def _unknown(thread: Thread, node: ast.Name) -> Diagnostic:
    help_text = "give it a value before the thread, or pass it as a parameter"
    if node.id.endswith("_stream"):
        help_text = f"write {node.id} = Stream({node.id.removesuffix('_stream')}) before the thread"
    text = f"`{node.id}` is not defined in thread `{thread.name}`"
    return diagnostic(text, help_text, thread.span(node), codes.UNKNOWN_NAME)


def _handed_on(thread: Thread) -> Iterator[Diagnostic]:
    """Who fills and empties a buffer is read from the methods that are called on it by name."""
    names = {argument.arg for argument in thread.parameters}
    owners = [node.value for node in thread.nodes if isinstance(node, ast.Attribute)]
    for node in thread.nodes:
        if isinstance(node, ast.Name) and node.id in names and node not in owners:
            text = f"parameter `{node.id}` of thread `{thread.name}` is passed on"
            help_text = f"call its methods where they are needed: {node.id}.pop()"
            yield diagnostic(text, help_text, thread.span(node))


def _arguments(thread: Thread) -> Iterator[Diagnostic]:
    """pop() and reserve() take one block, always."""
    names = [argument.arg for argument in thread.parameters if kind_of(argument) == "cb"]
    for node in ast.walk(thread.tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        owner, method = node.func.value, node.func.attr
        is_buffer = isinstance(owner, ast.Name) and owner.id in names
        if is_buffer and method in ACQUIRING and (node.args or node.keywords):
            text = f"`{ast.unparse(node)}`: {method}() takes no argument"
            help_text = "a block is the core's part of the tensor; take them one by one"
            yield diagnostic(text, help_text, thread.span(node))


def _broadcasts(thread: Thread) -> Iterator[Diagnostic]:
    for node in undecided(thread.tree.body):
        text = f"`{ast.unparse(node)}` calculates with a column of values on one path only"
        help_text = "write bcast(column, block) for what rowmax() or rowsum() gives"
        yield diagnostic(text, help_text, thread.span(node), codes.SHAPE_MISMATCH)


def broadcasting(thread: Thread, shapes: Sequence[Any]) -> Thread:
    """The thread, its blocks calculated by the shapes of the tensors as numpy does."""
    names = [argument.arg for argument in thread.parameters]
    pairs = zip(names, shapes, strict=False)
    known = {name: once_of(shape) for name, shape in pairs if shape}
    tree = with_broadcasts(thread.tree, known)
    return replace(thread, tree=tree, names={**thread.names, SPREAD: spread})


def reading_own_parts(thread: Thread, tensors: Sequence[Any]) -> Thread:
    """In the older spelling the streams of tensors have no names: see older.py, rule OWN."""
    used = {node.id for node in thread.nodes if isinstance(node, ast.Name)}
    pairs = zip(thread.parameters, tensors, strict=False)
    found = {OWN + each.arg: tensor for each, tensor in pairs if OWN + each.arg in used}
    return replace(thread, names={name: _stream(tensor) for name, tensor in found.items()})


def _stream(tensor: Any) -> Stream:
    made = (each for each in STREAMS.get() if each.argument is tensor)
    return next(made, None) or Stream(tensor)


def _stores_to_inputs(thread: Thread) -> Iterator[Diagnostic]:
    """A block that pop() gave is read; of the output, which is reserved first, it is the same."""
    given: dict[str, set[str]] = {}
    for node in thread.nodes:
        for name, value in _assigned(node):
            given.setdefault(name, set()).add(_popped(value))
    for node in thread.nodes:
        if not (isinstance(node, ast.Attribute) and node.attr == "store"):
            continue
        is_name = isinstance(node.value, ast.Name)
        owners = given.get(node.value.id, {""}) if is_name else {_popped(node.value)}  # type: ignore[attr-defined]
        if not any(not owner or "reserve" in thread.calls_on(owner) for owner in owners):
            text = f"`{ast.unparse(node)}()` writes a block that pop() gave to read"
            help_text = "store into a block of reserve()"
            yield diagnostic(text, help_text, thread.span(node), codes.BLOCK_STATE)


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if not isinstance(node, ast.Assign):
        return
    for target in node.targets:
        pairs = [(target, node.value)]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = list(zip(target.elts, node.value.elts, strict=False))
        yield from ((each.id, value) for each, value in pairs if isinstance(each, ast.Name))


def _popped(value: ast.expr) -> str:
    """The buffer of `name.pop()`."""
    call = value.func if isinstance(value, ast.Call) else None
    if isinstance(call, ast.Attribute) and call.attr == "pop" and isinstance(call.value, ast.Name):
        return call.value.id
    return ""


_REFUSED: dict[type[ast.AST], str] = {
    ast.Return: "return",
    ast.Break: "break",
    ast.Continue: "continue",
    ast.While: "while",
    ast.With: "with",
    ast.Try: "try",
    ast.Yield: "yield",
    ast.FunctionDef: "def",
    ast.AsyncFunctionDef: "async def",
    ast.Lambda: "lambda",
}


def _syntax(thread: Thread) -> Iterator[Diagnostic]:
    for node in thread.nodes:
        if (keyword := _REFUSED.get(type(node))) is not None:
            text = f"`{keyword}` in thread `{thread.name}`"
            help_text = "threads have assignments, calls, for over range(...), if and else"
            yield diagnostic(text, help_text, thread.span(node), codes.NOT_IN_KERNELS)


def _different(threads: Sequence[Thread]) -> Iterator[Diagnostic]:
    first = threads[0]
    kinds = [kind_of(argument) for argument in first.parameters]
    for thread in threads[1:]:
        if [kind_of(argument) for argument in thread.parameters] != kinds:
            text = f"threads `{first.name}` and `{thread.name}` have different parameters"
            help_text = "all threads take the same circular buffers, then the same semaphores"
            yield diagnostic(text, help_text, thread.span(thread.tree))


CHECKS = (
    _annotations, _captures, _unknown_names, _syntax, _broadcasts, _handed_on, _arguments,
    _stores_to_inputs,
)  # fmt: skip

# Running ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Moves:
    """What a thread does beside its body, by parameter."""

    fills: tuple[str, ...] = ()  # the buffers that it fills at its start
    pushes: tuple[str, ...] = ()  # the output, if the thread writes it
    writes: tuple[str, ...] = ()  # the output, which it writes back at its end


class InBodies(ast.NodeTransformer):
    """Rewrites the bodies of a thread, each with the number of bodies that it is deep."""

    depth = 0

    def visit_body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        self.depth += 1
        found = self.rewritten([self.visit(statement) for statement in body])
        self.depth -= 1
        return found

    def rewritten(self, body: list[ast.stmt]) -> list[ast.stmt]:
        raise NotImplementedError

    def visit_For(self, node: ast.For) -> ast.AST:
        node.iter = self.visit(node.iter)
        node.body = self.visit_body(node.body)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        node.test = self.visit(node.test)
        node.body = self.visit_body(node.body)
        node.orelse = self.visit_body(node.orelse) if node.orelse else []
        return node


class Recompiled(InBodies):
    """Changes a copy of a thread by the rules above."""

    def __init__(self, parameters: frozenset[str]):
        self.parameters = parameters

    def rewritten(self, body: list[ast.stmt]) -> list[ast.stmt]:  # rule SCOPE
        scope = _name(self._scope, ast.Store())
        entered = ast.withitem(ast.Call(_name(SCOPE), [], []), scope)
        return [at(ast.With([entered], body), body[0])]

    @property
    def _scope(self) -> str:
        return f".held_{self.depth}"

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """A new value, as it is compiled; the language's blocks would be added to in place."""
        again = deepcopy(node.target)
        again.ctx = ast.Load()
        value = self.visit(at(ast.BinOp(again, node.op, node.value), node))
        return at(ast.Assign([node.target], value), node)

    def visit_Await(self, node: ast.Await) -> ast.AST:
        value: ast.AST = self.visit(node.value)
        return value

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Attribute):
            return node
        owner, method = node.func.value, node.func.attr
        if method == "store" and len(node.args) == 1 and not node.keywords:  # rule PRODUCT
            call = method_call(_name(self._scope), "store", node)
            call.args = [owner, *node.args]
            return call
        is_parameter = isinstance(owner, ast.Name) and owner.id in self.parameters
        if is_parameter and method in ACQUIRING:
            node.args = [at(_name(self._scope), node)]
        return node


def _name(name: str, context: ast.expr_context | None = None) -> ast.Name:
    return ast.Name(name, context or ast.Load())


def running(
    thread: Thread, values: dict[str, Any], moves: Moves, iterations: Any = None
) -> FunctionType:
    """The thread as a kernel of the language, its parameters bound to `values`.

    Its body is run for each of `iterations`, if there are any.
    """
    tree = deepcopy(thread.tree)
    names = frozenset(argument.arg for argument in thread.parameters)
    body = Recompiled(names).visit_body(tree.body)
    if iterations is not None:
        loop = ast.For(_name(COUNTERS, ast.Store()), _name(ITERATIONS), body, [])
        body, values = [at(loop, body[0])], values | {ITERATIONS: iterations}
    before, after = _moving(thread, moves)
    definition = _definition(tree.name, [*before, *body, *after], tree)
    return _bound(thread, definition, values)


def one_after_the_other(threads: Sequence[Thread], functions: list[FunctionType]) -> FunctionType:
    """The kernel of threads that share a processor, in their order."""
    if len(functions) == 1:
        return functions[0]
    parts = {f".part_{number}": function for number, function in enumerate(functions)}
    body: list[ast.stmt] = [
        at(ast.Expr(ast.Call(_name(part), [], [])), thread.tree)
        for part, thread in zip(parts, threads, strict=True)
    ]
    name = "_and_".join(thread.name for thread in threads)
    return _bound(threads[0], _definition(name, body, threads[0].tree), parts)


def mover(thread: Thread, name: str, values: dict[str, Any], moves: Moves) -> FunctionType:
    """A kernel that only moves; it stands where `thread` names the parameter."""
    before, after = _moving(thread, moves)
    return _bound(thread, _definition(name, [*before, *after], thread.tree), values)


def _moving(thread: Thread, moves: Moves) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """What is done at the start of a kernel, and at its end."""
    places = {argument.arg: argument for argument in thread.parameters}
    before = [_statement(name, "fill", places[name]) for name in moves.fills]
    after = [_statement(name, "push_shard", places[name]) for name in moves.pushes]
    after += [_statement(name, "empty", places[name]) for name in moves.writes]
    return before, after


def calling(thread: Thread, name: str, owner: Any, method: str) -> FunctionType:
    """A kernel that calls a method of ours; it stands where `thread` does."""
    body = [_statement(CALLED, method, thread.tree)]
    return _bound(thread, _definition(name, body, thread.tree), {CALLED: owner})


def _statement(parameter: str, method: str, place: ast.AST) -> ast.stmt:
    return at(ast.Expr(method_call(_name(parameter), method, place)), place)


def _definition(name: str, body: list[ast.stmt], place: Definition) -> ast.FunctionDef:
    nothing = ast.arguments([], [], None, [], [], None, [])
    return ast.copy_location(ast.FunctionDef(name, nothing, body, [], None), place)


def _bound(thread: Thread, tree: ast.FunctionDef, values: dict[str, Any]) -> FunctionType:
    """A function whose free names are the thread's own cells and cells with `values`."""
    own, bound = thread.function.__code__, {**values, SCOPE: Scope, **thread.names}
    names = dict.fromkeys((*own.co_freevars, *bound))
    code = compiled(tree, names, own.co_filename)
    return with_names(thread.function, code, bound)
