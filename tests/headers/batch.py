"""Many kernels in one compiler call.

Nearly all the time of a check goes into the vendor's headers. Kernels of one processor, chip and
configuration are read after the same headers, each in a namespace of its own. A call that finds
nothing speaks for all of them; where it finds something the batch is halved until one kernel is
left, and that one is checked alone. So a batch only must not accept what a check alone would not:

- A kernel is one function: nothing else of it can hide what the headers declare.
- Its compile-time arguments are its own, with their own limit (`_arguments_scope`).
- It uses no names of headers that only other kernels of the batch include (`names`).
- Formats of buffers are no constants here, so that they cannot decide anything; kernels that ask
  for one are checked alone.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace

from .kernel_text import included, is_one_function, without_includes
from .names import Names
from .translation_unit import KERNEL_FILE, Unit
from .verdict import cached_verdict, is_accepted, keep_verdict, known_verdict, preprocessed

# More kernels than this do not make it cheaper, and progress is seen after each call.
_MOST = 200
# What these give depends on the formats or the arguments of the whole unit.
_READS_THE_UNIT = re.compile(
    r"\b(?:get_(?:tile_hw|tile_num_faces|dataformat)|kernel_compile_time_args"
    r"|make_tensor_accessor\w*|tensor_accessor)\b"
)
Report = Callable[[int, int], None]  # kernels that were checked, and all


def check_all(units: Iterable[Unit], report: Report = lambda done, of: None) -> None:
    """Have `known_verdict` know about all of them."""
    unknown = [unit for unit in dict.fromkeys(units) if known_verdict(unit) is None]
    batches = list(_batches(unknown))
    done = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(_check_batch, batch): len(batch) for batch in batches}
        for finished in as_completed(running):
            finished.result()
            done += running[finished]
            report(done, len(unknown))


def _batches(units: Sequence[Unit]) -> Iterable[list[Unit]]:
    groups: dict[object, list[Unit]] = defaultdict(list)
    for unit in units:
        groups[_shared(unit) if _fits_a_batch(unit) else unit].append(unit)
    for group in groups.values():
        group.sort(key=lambda unit: (included(unit.source), unit.compile_time_args))
        for start in range(0, len(group), _MOST):
            yield group[start : start + _MOST]


def _fits_a_batch(unit: Unit) -> bool:
    return (
        not unit.named_args
        and not unit.defines
        and not _READS_THE_UNIT.search(unit.source)
        and is_one_function(unit.source)
    )


def _shared(unit: Unit) -> Unit:
    """What kernels of a batch have in common."""
    return replace(unit, source="", compile_time_args=(), formats=None)


def _check_batch(batch: Sequence[Unit]) -> None:
    if len(batch) < 2:
        for unit in batch:
            cached_verdict(unit)
        return
    expanded = preprocessed(*_in_one(batch))
    lacking = _lacking_an_include(batch, expanded) if expanded is not None else []
    if lacking:
        for unit in lacking:
            cached_verdict(unit)
        _check_batch([unit for unit in batch if unit not in lacking])
    elif expanded is not None and is_accepted(expanded):
        for unit in batch:
            keep_verdict(unit, [])
    else:
        middle = len(batch) // 2
        _check_batch(batch[:middle])
        _check_batch(batch[middle:])


def _lacking_an_include(batch: Sequence[Unit], expanded: str) -> list[Unit]:
    """Those that use a name which only headers of others declare."""
    names = Names(expanded)
    return [
        unit
        for unit in batch
        if names.lacking(included(unit.source), without_includes(unit.source))
    ]


def _in_one(batch: Sequence[Unit]) -> tuple[Unit, str]:
    """What the kernels have in common, and their texts as one."""
    headers = dict.fromkeys(header for unit in batch for header in included(unit.source))
    lines = [f'#line 1 "{KERNEL_FILE}"', *(f"#include {header}" for header in headers)]
    arguments: list[int] = []
    by_arguments: dict[tuple[int, ...], list[Unit]] = defaultdict(list)
    for unit in batch:
        by_arguments[unit.compile_time_args].append(unit)
    for number, (own, units) in enumerate(by_arguments.items()):
        lines += [f"namespace ttl_arguments_{number} {{"]
        lines += _arguments_scope(own, len(arguments), has_tensors=not units[0].processor.trisc)
        for position, unit in enumerate(units):
            lines += [f"namespace ttl_kernel_{position} {{", f'#line 1 "{KERNEL_FILE}"']
            lines += [without_includes(unit.source), "}"]
        lines += ["}"]
        arguments += own
    return replace(_shared(batch[0]), compile_time_args=tuple(arguments)), "\n".join(lines)


def _arguments_scope(own: Sequence[int], first: int, has_tensors: bool) -> list[str]:
    """The arguments of some kernels, among those of all from `first` on."""
    lines = [
        "template <uint32_t Idx> constexpr uint32_t get_ct_arg() {",
        f'  static_assert(Idx < {len(own)}, "Index out of range");',
        f"  return ::get_ct_arg<{first} + Idx>();",
        "}",
    ]
    if not has_tensors:
        return lines
    base = f"::TensorAccessorArgs<{first} + Offset, Common>"
    return [
        *lines,
        "template <std::size_t Offset, std::size_t Common = tensor_accessor::UNKNOWN>",
        f"struct TensorAccessorArgs : {base} {{",
        f"  using Base = {base};",
        f"  static_assert(Offset + Base::NumArgsCT <= {len(own)});",
        "  using Base::Base;",
        "  static constexpr uint32_t next_compile_time_args_offset() {",
        f"    return Base::next_compile_time_args_offset() - {first};",
        "  }",
        "};",
    ]
