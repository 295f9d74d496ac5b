"""ttnn-resolve-tt-lang-kernels: the artifact of every TT-Lang operation that has none yet.

A Python function supplies it, which is imported only if there is such an operation.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr

from ttgraph.dialects import ttnn
from ttgraph.dialects.graph import shape_of
from ttl.diagnostics import CompileError, TTLError, codes
from ttl.passes.module_pass import cannot_compile

Resolver = Callable[..., object]


def apply(
    op: ModuleOp,
    *,
    mesh_shape: str | tuple[int, ...] = "",
    python_module: str = "tt_torch.tt_lang",
    python_function: str = "resolve_operation",
) -> None:
    found = [each for each in op.walk() if isinstance(each, ttnn.TTLangOp)]
    unresolved = [each for each in found if not each.text_of("kernel_artifact")]
    if not unresolved:
        return
    mesh = _mesh(unresolved[0], mesh_shape)
    resolver = _resolver(unresolved, python_module, python_function)
    for each in unresolved:
        artifact = _resolve(resolver, each, mesh)
        each.attributes["kernel_artifact"] = StringAttr(artifact)


def _mesh(op: ttnn.TTLangOp, shape: str | tuple[int, ...]) -> list[int]:
    if not isinstance(shape, str):
        return list(shape)
    if not shape.strip():
        return [1]
    sizes = []
    for part in (part.strip() for part in shape.split(",")):
        if not part:
            raise _failed(op, f"mesh-shape contains an empty component: '{shape}'")
        if not (part.isascii() and part.isdecimal()):
            raise _failed(op, f"mesh-shape component '{part}' is not a non-negative integer")
        sizes.append(int(part))
    return sizes


def _resolver(unresolved: list[ttnn.TTLangOp], module: str, function: str) -> Resolver:
    try:
        found: Resolver = getattr(import_module(module), function)
    except Exception as error:  # the user's module may raise anything
        message = (
            f"{len(unresolved)} unresolved tt-lang kernel(s): the {module}.{function} entry point "
            f"is not importable: {error}"
        )
        help_text = "install what has it, or name another with python-module, python-function"
        raise _failed(unresolved[0], message, help_text) from error
    return found


def _resolve(resolver: Resolver, op: ttnn.TTLangOp, mesh: list[int]) -> str:
    kernel = op.kernel_id.data
    optional = {"shard_spec": op.text_of("shard_spec")} if op.text_of("shard_spec") else {}
    types: list[Any] = [each.type for each in op.inputs]
    layouts = [ttnn.layout_of(type) for type in types]
    try:
        artifact = resolver(
            operation_id=kernel,
            version_tag=op.version_tag.data,
            shapes=[list(shape_of(each)) for each in op.inputs],
            dtypes=[str(type.element_type) for type in types],
            layouts=[f"#ttnn.ttnn_layout<{each}>" if each else "" for each in layouts],
            mesh_shape=list(mesh),
            arg_roles=op.arg_roles.data,
            **optional,
        )
    except TTLError as error:
        failed = _failed(op, f"tt-lang resolve failed for kernel '{kernel}'")
        raise CompileError(*failed.diagnostics, *error.diagnostics) from error
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        raise _failed(op, f"tt-lang resolve failed for kernel '{kernel}': {text}") from error
    if not artifact:
        raise _failed(op, f"tt-lang resolve returned an empty artifact for kernel '{kernel}'")
    try:
        return artifact.decode() if isinstance(artifact, bytes) else str(artifact)
    except UnicodeDecodeError as error:
        message = f"tt-lang resolve failed for kernel '{kernel}': the artifact is no text: {error}"
        raise _failed(op, message) from None


def _failed(op: ttnn.TTLangOp, message: str, *helps: str) -> CompileError:
    return cannot_compile(codes.RESOLVE_FAILED.broken(message, *helps), op)
