"""Runs functions and models of jax as a graph of ttnn: compile(f)(*arguments).

    run = ttgraph.jax.compile(f)      # a function, jax.jit of one, a module of flax or nnx
    result = run(parameters, inputs)           # any pytrees, as f has them

The graph is the module from jax.export, compiled once for each kind of arguments. Needs the extra
`jax`, and no torch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from ttgraph.flatbuffer import Runtime, compile_module, run_traced
from ttgraph.stablehlo import read_module
from ttl.diagnostics import Diagnostic, TTLError, UsageError, codes, usage_error, writing
from ttl.loading import recent
from ttl.loading.recent import Recent
from ttl.semantics.dtypes import Array

Function: TypeAlias = Callable[..., Any]
MOST_KEPT = 100  # kinds of arguments of one function


def compile(function: Function, **options: object) -> Function:
    """Compile `function` to a graph of ttnn on the embedded runtime, with the same results.

    `function` is any function that jax can trace, one from jax.jit, or a module: of nnx, whose
    variables it reads and writes at each call, or of flax.linen, which then takes the variables as
    its first argument, like `apply`. `options` are jax.jit's, for example static_argnames.
    Raises CompileError with the operation's name if one cannot be lowered.
    """
    if _is_module(function, "flax.nnx"):
        return CompiledModule(function, options)
    if _is_module(function, "flax.linen"):
        return CompiledFunction(function.apply, options)  # type: ignore[attr-defined]
    return CompiledFunction(function, options)


def _is_module(function: object, package: str) -> bool:
    """Is it a module of this package? Does not import flax for other functions."""
    return any(
        each.__name__ == "Module" and each.__module__.startswith(package)
        for each in type(function).__mro__
    )


@dataclass(frozen=True, slots=True)
class Lowered:
    """Graph for one kind of arguments."""

    exported: Any  # from jax.export
    binary: bytes

    @property
    def stablehlo(self) -> str:
        return str(self.exported.mlir_module())

    def save(self, file: str | Path) -> None:
        """Write the flatbuffer, a .ttnn file, whose inputs are the leaves that the graph uses."""
        with writing(file):
            Path(file).write_bytes(self.binary)

    def inputs(self, *arguments: object, **named: object) -> list[Array]:
        """Return the flatbuffer's input arrays for these arguments."""
        leaves = jax.tree.leaves((arguments, named))
        return [_array(leaves[place]) for place in self.exported.module_kept_var_idx]


@dataclass(frozen=True, slots=True)
class _Call:
    """A call's arguments; static ones, which are part of the graph, by position and name."""

    arguments: tuple[object, ...]
    named: dict[str, object]
    fixed: dict[int | str, object]

    def with_fixed(self, function: Function) -> Function:
        def call(*arguments: object, **named: object) -> object:
            values = list(arguments)
            for place in sorted(each for each in self.fixed if isinstance(each, int)):
                values.insert(place, self.fixed[place])
            names = {name: value for name, value in self.fixed.items() if isinstance(name, str)}
            return function(*values, **named, **names)

        return call if self.fixed else function


def _static_names(
    function: Function, places: int | Sequence[int], names: str | Sequence[str]
) -> frozenset[int | str]:
    """Return the position and the name of each static argument, as far as they are known."""
    found: set[int | str] = {places} if isinstance(places, int) else set(places)
    found |= {names} if isinstance(names, str) else set(names)
    try:
        parameters = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return frozenset(found)
    pairs = enumerate(parameters) if found else ()
    found |= {other for pair in pairs if found & set(pair) for other in pair}
    return frozenset(found)


class CompiledFunction:
    """Function of jax as a function of arrays."""

    def __init__(self, function: Function, options: dict[str, Any]):
        self._function, self._options = function, dict(options)
        given = (self._options.pop(name, ()) for name in ("static_argnums", "static_argnames"))
        self._static = _static_names(function, *given)
        self._graphs: Recent[tuple[Lowered, Runtime]] = Recent(MOST_KEPT)

    def lower(self, *arguments: object, **named: object) -> Lowered:
        """Compile and return the graph for arguments like these."""
        return self._graph(self._bind(arguments, named))[0]

    def __call__(self, *arguments: object, **named: object) -> Any:
        call = self._bind(arguments, named)
        lowered, runtime = self._graph(call)
        inputs = lowered.inputs(*call.arguments, **call.named)
        found = run_traced(runtime, inputs)
        avals = lowered.exported.out_avals
        values = [_value(array, like) for array, like in zip(found, avals, strict=True)]
        return jax.tree.unflatten(lowered.exported.out_tree, values)

    def _bind(self, arguments: tuple[object, ...], named: dict[str, object]) -> _Call:
        places = (pair for pair in enumerate(arguments) if pair[0] in self._static)
        fixed: dict[int | str, object] = dict(places)
        fixed |= {name: value for name, value in named.items() if name in self._static}
        return _Call(
            tuple(value for place, value in enumerate(arguments) if place not in fixed),
            {name: value for name, value in named.items() if name not in fixed},
            fixed,
        )

    def _graph(self, call: _Call) -> tuple[Lowered, Runtime]:
        leaves, tree = jax.tree.flatten((call.arguments, call.named))
        key = (tree, tuple(_kind(leaf) for leaf in leaves), tuple(call.fixed.items()))
        return self._graphs.get(key, lambda: self._compile(call, len(leaves)))

    def _compile(self, call: _Call, count: int) -> tuple[Lowered, Runtime]:
        jitted: Any = self._function
        if call.fixed or self._options or not hasattr(jitted, "trace"):
            jitted = jax.jit(call.with_fixed(jitted), **self._options)
        exported = _export(jitted, call)
        if len(exported.in_avals) != count:
            message = "a function from jax.jit with static arguments that compile() does not know"
            help_text = "name them here too: compile(function, static_argnames=...)"
            raise _wrong(message, help_text)
        try:
            binary = compile_module(read_module(str(exported.mlir_module()), "<jax>"))
        except TTLError as error:
            raise type(error)(*map(_drop_own_lines, error.diagnostics)) from None
        return Lowered(exported, binary), Runtime(binary)


def _export(jitted: Any, call: _Call) -> Any:
    try:
        return jax.export.export(jitted, platforms=["cpu"])(*call.arguments, **call.named)
    except NotImplementedError as error:  # jax has no text for it, such as callbacks to Python
        message = f"jax cannot export the function: {error}"
        help_text = "leave out what calls Python while it runs: jax.debug.print, jax.pure_callback"
        raise _wrong(message, help_text) from None


def _drop_own_lines(diagnostic: Diagnostic) -> Diagnostic:
    """Drop lines of this file, which jax takes for the function's because they called it."""
    labels = [each for each in (diagnostic.primary, *diagnostic.secondary) if each is not None]
    shown = [each for each in labels if each.span.file not in (__file__, recent.__file__)]
    first = shown[0] if shown else None
    return replace(diagnostic, primary=first, secondary=tuple(shown[1:]))


class CompiledModule:
    """Module of nnx. A call's changes to its variables change the module."""

    def __init__(self, module: Any, options: dict[str, Any]):
        self.module, self._options = module, options
        self._functions: Recent[CompiledFunction] = Recent(MOST_KEPT)

    def __call__(self, *arguments: object, **named: object) -> Any:
        from flax import nnx

        function, state = self._split()
        result, changed = function(state, *arguments, **named)
        nnx.update(self.module, changed)
        return result

    def lower(self, *arguments: object, **named: object) -> Lowered:
        function, state = self._split()
        return function.lower(state, *arguments, **named)

    def _split(self) -> tuple[CompiledFunction, Any]:
        """Return a function of the module's variables, and the variables."""
        from flax import nnx

        structure, state = nnx.split(self.module)
        return self._functions.get(structure, lambda: self._function(structure)), state

    def _function(self, structure: Any) -> CompiledFunction:
        from flax import nnx

        def call(state: object, *arguments: object, **named: object) -> object:
            module = nnx.merge(structure, state)
            result = module(*arguments, **named)
            return result, nnx.state(module)

        return CompiledFunction(call, self._options)


# Arrays -------------------------------------------------------------------------------------------


def _kind(leaf: object) -> Hashable:
    """Return the part of an argument that the graph depends on; all of it if it is no array."""
    if isinstance(leaf, jax.core.Tracer):
        message = "a compiled function is called while jax traces another one"
        help_text = "give jax.grad, vmap and jit the function itself, and compile the result"
        raise _wrong(message, help_text)
    if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        return tuple(leaf.shape), str(leaf.dtype), bool(getattr(leaf, "weak_type", False))
    return type(leaf).__qualname__


def _wrong(message: str, help_text: str) -> UsageError:
    return usage_error(codes.WRONG_ARGUMENT, message, help_text)


def _array(leaf: Any) -> Array:
    """Return an argument's array; a random key gives its key data."""
    if _is_key(leaf):
        return np.asarray(jax.random.key_data(leaf))
    return np.asarray(leaf)


def _value(array: np.ndarray, like: Any) -> Any:
    """Convert to jax's element type: the runtime has fewer types."""
    if _is_key(like):
        data = jnp.asarray(array.astype(np.uint32))
        return jax.random.wrap_key_data(data, impl=like.dtype._impl.name)
    return jnp.asarray(array.astype(like.dtype))


def _is_key(value: object) -> bool:
    dtype = getattr(value, "dtype", None)
    return dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key)


__all__: Sequence[str] = ("CompiledFunction", "CompiledModule", "Lowered", "compile")
