"""Replaces the computation of a model's modules by kernels; parameters and names are kept."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn

Forward = Callable[..., Any]


def replace(model: nn.Module, kernels: Mapping[type[nn.Module], Forward]) -> nn.Module:
    """A copy of the model in which modules of these classes are computed by these functions.

    A function gets the module and the arguments of its forward(). A TT-Lang operation gets the
    tensors among the arguments as matrices of their last dimension, then the parameters of the
    module, and gives a tensor like the first argument. ValueError for a class that the model does
    not have.
    """
    changed = copy.deepcopy(model)
    found = {kind: [each for each in changed.modules() if type(each) is kind] for kind in kernels}
    for kind, modules in found.items():
        if not modules:
            raise ValueError(f"the model has no {kind.__name__}: {_kinds(model)}")
        for module in modules:
            module.forward = MethodType(_forward(kernels[kind]), module)
    return changed


def _kinds(model: nn.Module) -> str:
    names = sorted({type(each).__name__ for each in model.modules()})
    return f"its modules are {', '.join(names)}"


def _forward(kernel: Forward) -> Forward:
    if not hasattr(kernel, "_tt_lang_operation_entry"):
        return kernel

    def forward(module: nn.Module, *args: Any, **kwargs: Any) -> Tensor:
        given = [each for each in (*args, *kwargs.values()) if isinstance(each, Tensor)]
        first = given[0]
        tensors = [each.reshape(-1, each.shape[-1]) for each in given]
        held = [each.reshape(-1, each.shape[-1]) for each in module.parameters(recurse=False)]
        result: Tensor = kernel(*tensors, *held, torch.empty_like(tensors[0]))
        return result.reshape(first.shape)

    return forward
