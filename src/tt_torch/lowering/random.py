"""Random numbers: inputs of the graph that are drawn anew before each run, by the CPU's generator.

So torch.manual_seed() gives the same numbers as on the CPU, in the order of the program.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from xdsl.ir import SSAValue

from .emitter import RANDOM, Drawn, Emitter, lowers

aten = torch.ops.aten


def _draw(emitter: Emitter, node: fx.Node, function: str, *args: Any) -> SSAValue:
    value = node.meta["val"]
    shape = tuple(int(size) for size in value.shape)
    return emitter.draw(node, Drawn(shape, value.dtype, function, args))


@lowers(aten.rand.default, aten.rand_like.default)
def uniform(emitter: Emitter, node: fx.Node, *_: Any, **__: Any) -> SSAValue:
    return _draw(emitter, node, "uniform_")


@lowers(aten.randn.default, aten.randn_like.default)
def normal(emitter: Emitter, node: fx.Node, *_: Any, **__: Any) -> SSAValue:
    return _draw(emitter, node, "normal_")


@lowers(aten.uniform.default)
def uniform_between(
    emitter: Emitter, node: fx.Node, x: SSAValue, low: float = 0, high: float = 1, **_: Any
) -> SSAValue:
    return _draw(emitter, node, "uniform_", low, high)


@lowers(aten.normal_functional.default)
def normal_of(
    emitter: Emitter, node: fx.Node, x: SSAValue, mean: float = 0, std: float = 1, **_: Any
) -> SSAValue:
    return _draw(emitter, node, "normal_", mean, std)


@lowers(aten.exponential.default)
def exponential(
    emitter: Emitter, node: fx.Node, x: SSAValue, rate: float = 1, **_: Any
) -> SSAValue:
    return _draw(emitter, node, "exponential_", rate)


@lowers(aten.bernoulli.p)
def bernoulli(
    emitter: Emitter, node: fx.Node, x: SSAValue, probability: float = 0.5, **_: Any
) -> SSAValue:
    return _draw(emitter, node, "bernoulli_", probability)


@lowers(aten.randint.default)
def randint(emitter: Emitter, node: fx.Node, high: int, *_: Any, **__: Any) -> SSAValue:
    return _draw(emitter, node, "random_", 0, high)


@lowers(aten.randint.low)
def randint_from(
    emitter: Emitter, node: fx.Node, low: int, high: int, *_: Any, **__: Any
) -> SSAValue:
    return _draw(emitter, node, "random_", low, high)


@lowers(aten.randint_like.default)
def randint_like(
    emitter: Emitter, node: fx.Node, x: SSAValue, high: int, *_: Any, **__: Any
) -> SSAValue:
    return _draw(emitter, node, "random_", 0, high)


@lowers(aten.randint_like.low_dtype)
def randint_like_from(
    emitter: Emitter, node: fx.Node, x: SSAValue, low: int, high: int, **_: Any
) -> SSAValue:
    return _draw(emitter, node, "random_", low, high)


@lowers(aten.randperm.default)
def randperm(emitter: Emitter, node: fx.Node, *_: Any, **__: Any) -> SSAValue:
    return _draw(emitter, node, "randperm")


RANDOM |= {
    aten.rand.default, aten.rand_like.default, aten.randn.default, aten.randn_like.default,
    aten.uniform.default, aten.normal_functional.default, aten.exponential.default,
    aten.bernoulli.p, aten.randint.default, aten.randint.low, aten.randint_like.default,
    aten.randint_like.low_dtype, aten.randperm.default, aten.native_dropout.default,
}  # fmt: skip
