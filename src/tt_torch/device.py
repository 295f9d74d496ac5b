"""Device `tt` of torch, with memory on the host and our operations.

torch knows a device by its name and its registered kernels. A tensor on `tt` has a storage whose
bytes belong to an attached storage on the CPU, so views, parameters and everything else that shares
storages work as on any device.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _get_current_dispatch_mode

NAME = "tt"
_ON_CPU = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
# Operations that only change sizes and strides are the same on every device.
_VIEWS = (
    "view",
    "as_strided",
    "_reshape_alias",
    "alias",
    "unfold",
    "set_.source_Storage_storage_offset",
    "view_as_real",
    "view_as_complex",
)
# The CPU draws random numbers.
_DRAWN = (
    "uniform_",
    "normal_",
    "random_",
    "random_.from",
    "random_.to",
    "bernoulli_.float",
    "exponential_",
)


# torch makes its own storage over the same bytes, for example to pickle it.
_HOSTS: WeakValueDictionary[int, torch.UntypedStorage] = WeakValueDictionary()


def storage_over(host: torch.UntypedStorage) -> torch.UntypedStorage:
    """Make a storage of `tt` over the same bytes, which live as long as it does.

    torch would copy it with an allocator, which a Python device does not have, and it does not
    allow a subclass. So this storage object has its own methods.
    """
    place = torch.device(NAME, 0)
    made = torch._C._construct_storage_from_data_pointer(host.data_ptr(), place, host.nbytes())
    made._tt_host = host
    _HOSTS[host.data_ptr()] = host
    made.clone = lambda: storage_over(host.clone())
    made.cpu = host.clone
    return made


def on_host(tensor: Tensor) -> Tensor:
    """Return a CPU tensor over the same memory; a CPU tensor is returned unchanged."""
    if tensor.device.type != NAME:
        return tensor
    tensor = tensor.detach()
    storage = tensor.untyped_storage()
    host = storage._tt_host if hasattr(storage, "_tt_host") else _HOSTS[storage.data_ptr()]
    empty = torch.empty(0, dtype=tensor.dtype)
    return empty.set_(host, tensor.storage_offset(), tensor.size(), tensor.stride())


def on_tt(host: Tensor) -> Tensor:
    """Return a tensor on `tt` over the same memory."""
    storage = storage_over(host.untyped_storage())
    made = torch._C._acc.create_empty_tensor([0], host.dtype)
    torch.ops.aten.set_.source_Storage_storage_offset.redispatch(
        _ON_CPU, made, storage, host.storage_offset(), host.size(), host.stride()
    )
    return made


# Kernels ------------------------------------------------------------------------------------------


def _empty(
    size: Sequence[int],
    dtype: torch.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    memory_format: torch.memory_format | None = None,
) -> Tensor:
    _check_index(device)
    format = memory_format or torch.contiguous_format
    return on_tt(torch.empty(size, dtype=dtype, memory_format=format))


def _empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    dtype: torch.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Tensor:
    _check_index(device)
    return on_tt(torch.empty_strided(size, stride, dtype=dtype))


def _check_index(device: torch.device | None) -> None:
    if device is not None and device.index not in (None, 0):
        raise RuntimeError(f"there is no device {str(device)!r}: the only one is '{NAME}:0'")


def _copy_from(source: Tensor, destination: Tensor, non_blocking: bool = False) -> Tensor:
    on_host(destination).copy_(on_host(source))
    return destination


def _copy_from_and_resize(source: Tensor, destination: Tensor) -> Tensor:
    return _copy_from(source, destination.resize_(source.size()))


def _resize(
    tensor: Tensor, size: Sequence[int], memory_format: torch.memory_format | None = None
) -> Tensor:
    """Resize, keeping the elements' order; a larger size gets new memory with a copy."""
    storage, start = tensor.untyped_storage(), tensor.storage_offset()
    strides = torch.empty(size, device="meta").stride()
    needed = start + math.prod(size)
    if needed * tensor.element_size() > storage.nbytes():
        held = torch.empty(0, dtype=tensor.dtype).set_(storage._tt_host)
        larger = torch.empty(needed, dtype=tensor.dtype)
        larger[: held.numel()] = held
        storage = storage_over(larger.untyped_storage())
    return tensor.set_(storage, start, size, strides)


def _fill(tensor: Tensor, value: Any) -> Tensor:
    on_host(tensor).fill_(on_host(value) if isinstance(value, Tensor) else value)
    return tensor


def _of_host(name: str) -> Callable[..., Tensor]:
    """Make a kernel on the CPU, for results of unknown size and for random numbers."""

    def run(*args: Any, **kwargs: Any) -> Tensor:
        given = [on_host(each) if isinstance(each, Tensor) else each for each in args]
        return on_tt(getattr(torch.ops.aten, name)(*given, **kwargs))

    return run


def _randperm(count: int, generator: Any = None, *, out: Tensor) -> Tensor:
    return out.resize_(count).copy_(torch.randperm(count, generator=generator))


def _index(x: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """Index; masks become the positions where they are true."""
    places: list[Tensor | None] = []
    for each in indices:
        is_mask = each is not None and each.dtype in (torch.bool, torch.uint8)
        places += each.nonzero().unbind(1) if is_mask and each is not None else [each]
    op = torch.ops.aten.index.Tensor
    return _run_eagerly(op, x, places)


def _random(name: str) -> Callable[..., Tensor]:
    def fill(tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        getattr(on_host(tensor), name)(*args, **kwargs)
        return tensor

    return fill


def _batch_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor | None,
    variance: Tensor | None,
    training: bool,
    *options: float,
) -> Any:
    """Normalize, and update the running statistics, which the operation does not declare."""
    aten = torch.ops.aten
    if mean is None or variance is None:
        args = (x, weight, bias, training, *options)
        return _run_eagerly(aten._native_batch_norm_legit.no_stats, *args)
    functional = aten._native_batch_norm_legit_functional.default
    *found, new_mean, new_variance = _run_eagerly(
        functional, x, weight, bias, mean, variance, training, *options
    )
    mean.copy_(new_mean)
    variance.copy_(new_variance)
    return tuple(found)


def _convolution_backward(
    grad: Tensor, x: Tensor, weight: Tensor, *options: Any
) -> tuple[Tensor | None, ...]:
    *window, wanted = options
    op = torch.ops.aten.convolution_backward.default
    found = _run_eagerly(op, grad, x, weight, [weight.shape[0]], *window, wanted)
    return tuple(found)


_KERNELS: dict[str, Callable[..., Any]] = {
    "empty.memory_format": _empty,
    "empty_strided": _empty_strided,
    "_copy_from": _copy_from,
    "_copy_from_and_resize": _copy_from_and_resize,
    "resize_": _resize,
    "fill_.Scalar": _fill,
    "zero_": lambda tensor: _fill(tensor, 0),
    "fill_.Tensor": _fill,
    "_local_scalar_dense": lambda tensor: on_host(tensor).item(),
    "equal": lambda tensor, other: torch.equal(on_host(tensor), on_host(other)),
    "randperm.generator_out": _randperm,
    "index.Tensor": _index,
    "native_batch_norm": _batch_norm,
    # torch has a separate operation for devices that it does not know.
    "convolution_overrideable": lambda *args: _run_eagerly(
        torch.ops.aten.convolution.default, *args
    ),
    "convolution_backward_overrideable": _convolution_backward,
    # torch asks here whether it may make nested tensors, which are not supported.
    "_nested_tensor_from_mask_left_aligned": lambda tensor, mask: False,
}
_COUNTED = ("bincount", "masked_select", "multinomial", "nonzero")
_KERNELS |= {name: _of_host(name) for name in _COUNTED}
_KERNELS |= {name: _random(name.partition(".")[0]) for name in _DRAWN}


def _overload(name: str) -> Any:
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def _view(name: str) -> Callable[..., Any]:
    op = _overload(name)

    def run(*args: Any, **kwargs: Any) -> Any:
        return op.redispatch(_ON_CPU, *args, **kwargs)

    return run


# Layers that torch splits into operations of each step, but that are one graph here.
_RECURRENT = ("lstm.input", "gru.input", "rnn_tanh.input", "rnn_relu.input")


def _recurrent(name: str) -> Callable[..., Any]:
    op = _overload(name)

    def run(*args: Any) -> Any:
        """Run with the operations' gradients; torch's own Python decomposition for graphs forgets
        dropout between layers.
        """
        layers, dropout, train = args[4:7]
        tensors = [each for each in pytree.tree_leaves(args) if isinstance(each, Tensor)]
        has_gradient = torch.is_grad_enabled() and any(each.requires_grad for each in tensors)
        is_traced = _get_current_dispatch_mode() is not None
        if (train and dropout and layers > 1) or (has_gradient and not is_traced):
            return op._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, *args)
        return op.decompose(*args) if is_traced else _run_eagerly(op, *args)

    return run


@functools.cache
def register() -> tuple[torch.library.Library, ...]:
    """Make device `tt` known to torch, once in a process: registrations last as long as these."""
    other = torch._C._get_privateuse1_backend_name()
    if other != "privateuseone":
        raise RuntimeError(
            f"torch has room for one device of others, and device {other!r} is there"
        )
    try:
        from torch.utils.backend_registration import _setup_privateuseone_for_python_backend
    except ImportError:
        from _pyttlang_installation import install_extra

        message = f"tt_torch needs torch 2.13, and this is {torch.__version__}"
        raise RuntimeError(f"{message}: {install_extra('torch')}") from None

    _setup_privateuseone_for_python_backend(NAME)
    module = torch.get_device_module(NAME)
    module.synchronize = lambda device=None: None  # operations are done when they return
    module.get_amp_supported_dtype = list  # no types: torch warns and computes without autocast
    aten = torch.library.Library("aten", "IMPL")
    for name, kernel in (_KERNELS | {name: _view(name) for name in _VIEWS}).items():
        aten.impl(name, _untraced(kernel), "PrivateUse1")
    for name in _RECURRENT:
        for key in ("PrivateUse1", "AutogradPrivateUse1"):
            aten.impl(name, _untraced(_recurrent(name)), key)
    others = torch.library.Library("_", "IMPL")
    others.fallback(_untraced(_run_eagerly), "PrivateUse1")
    torch.serialization.register_package(_BEFORE_OTHERS, _location, _load)
    nn.Module._apply = _tying(nn.Module._apply)
    return aten, others


def _tying(apply: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
    """Keep parameters shared between modules: for every device that is not torch's own, `to()`
    makes a new parameter for each module, and has no hook.
    """

    @functools.wraps(apply)
    def tied(module: nn.Module, *args: Any, **kwargs: Any) -> nn.Module:
        places: dict[int, list[tuple[nn.Module, str]]] = {}
        for each in module.modules():
            for name, parameter in each._parameters.items():
                if parameter is not None:
                    places.setdefault(id(parameter), []).append((each, name))
        moved = apply(module, *args, **kwargs)
        for (first, own), *others in places.values():
            for each, name in others:
                each._parameters[name] = first._parameters[own]
        return moved

    return tied


def _untraced(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Exclude our frames from dynamo's tracing after a graph break.

    torch.compiler.disable() would load dynamo here; this function does so at the first call.
    """
    untraced: Callable[..., Any] = torch._disable_dynamo(kernel)
    return untraced


_BEFORE_OTHERS = 11  # the CPU is at 10


def _location(storage: Any) -> str | None:
    """Return the location that torch.save() records for a storage."""
    return NAME if hasattr(storage, "_tt_host") else None


def _load(storage: torch.UntypedStorage, location: str) -> torch.UntypedStorage | None:
    """Return torch.load()'s storage for a location."""
    return storage_over(storage) if location == NAME else None


def _run_eagerly(op: Any, *args: Any, **kwargs: Any) -> Any:
    from .eager import run_eagerly

    return run_eagerly(op, args, kwargs)
