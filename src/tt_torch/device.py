"""Device `tt` of torch: its memory is memory of the host, its operations are ours.

torch knows a device by its name and by the kernels that are registered for it. A tensor on `tt` has
a storage whose bytes belong to a storage on the CPU that hangs on it; so views, parameters and
whatever else shares storages work as on any device.
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
# What only moves a tensor's sizes and strides is the same on every device.
_VIEWS = (
    "view", "as_strided", "_reshape_alias", "alias", "unfold", "set_.source_Storage_storage_offset",
    "view_as_real", "view_as_complex",
)  # fmt: skip
# Random numbers are those that the CPU draws.
_DRAWN = (
    "uniform_", "normal_", "random_", "random_.from", "random_.to", "bernoulli_.float",
    "exponential_",
)  # fmt: skip


# Where torch makes a storage of its own over the same bytes, for example to pickle it.
_HOSTS: WeakValueDictionary[int, torch.UntypedStorage] = WeakValueDictionary()


def storage_over(host: torch.UntypedStorage) -> torch.UntypedStorage:
    """The same bytes as memory of `tt`. They live as long as it does.

    torch would copy it with an allocator, which a device of Python has not; and it allows no class
    of our own. So this one storage has functions of its own.
    """
    place = torch.device(NAME, 0)
    made = torch._C._construct_storage_from_data_pointer(host.data_ptr(), place, host.nbytes())
    made._tt_host = host
    _HOSTS[host.data_ptr()] = host
    made.clone = lambda: storage_over(host.clone())
    made.cpu = host.clone
    return made


def on_host(tensor: Tensor) -> Tensor:
    """The same memory as a tensor on the CPU; a tensor that is there already as it is."""
    if tensor.device.type != NAME:
        return tensor
    tensor = tensor.detach()
    storage = tensor.untyped_storage()
    host = storage._tt_host if hasattr(storage, "_tt_host") else _HOSTS[storage.data_ptr()]
    empty = torch.empty(0, dtype=tensor.dtype)
    return empty.set_(host, tensor.storage_offset(), tensor.size(), tensor.stride())


def on_tt(host: Tensor) -> Tensor:
    """The same memory as a tensor on `tt`."""
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
    """The elements stay in their order; larger memory is new memory with them in it."""
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
    """How many there are is known only when they are looked at, or they are drawn."""

    def run(*args: Any, **kwargs: Any) -> Tensor:
        given = [on_host(each) if isinstance(each, Tensor) else each for each in args]
        return on_tt(getattr(torch.ops.aten, name)(*given, **kwargs))

    return run


def _randperm(count: int, generator: Any = None, *, out: Tensor) -> Tensor:
    return out.resize_(count).copy_(torch.randperm(count, generator=generator))


def _index(x: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """Masks become the places where they are true."""
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
    """What a layer that trains keeps is written, though the operation does not say so."""
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
    # torch has an operation of its own for devices that it does not know.
    "convolution_overrideable": lambda *args: _run_eagerly(
        torch.ops.aten.convolution.default, *args
    ),
    "convolution_backward_overrideable": _convolution_backward,
    # How torch asks whether it may make a nested tensor of a padded one; there are none here.
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


# Layers that torch takes apart into operations of each step, which are one graph here.
_RECURRENT = ("lstm.input", "gru.input", "rnn_tanh.input", "rnn_relu.input")


def _recurrent(name: str) -> Callable[..., Any]:
    op = _overload(name)

    def run(*args: Any) -> Any:
        """Gradients are those of the operations. What torch has in Python for graphs forgets to
        drop anything between layers.
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
    module.synchronize = lambda device=None: None  # an operation is done when it returns
    module.get_amp_supported_dtype = list  # none: torch says so, and computes without autocast
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
    """A parameter that modules share stays one: `to()` makes a new one at each place where it is,
    for every device that is not torch's own, and has no hook for it.
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
    """Where dynamo leaves a graph, the frames after it are the user's, and not ours.

    torch.compiler.disable() would load dynamo here; this one does so at the first call.
    """
    untraced: Callable[..., Any] = torch._disable_dynamo(kernel)
    return untraced


_BEFORE_OTHERS = 11  # the CPU is at 10


def _location(storage: Any) -> str | None:
    """What torch.save() notes about a storage."""
    return NAME if hasattr(storage, "_tt_host") else None


def _load(storage: torch.UntypedStorage, location: str) -> torch.UntypedStorage | None:
    """What torch.load() makes of the bytes of one."""
    return storage_over(storage) if location == NAME else None


def _run_eagerly(op: Any, *args: Any, **kwargs: Any) -> Any:
    from .eager import run_eagerly

    return run_eagerly(op, args, kwargs)
