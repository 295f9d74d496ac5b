"""Sweeps: looks up known results of jobs and runs the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from .job import CRASHED
from .progress import progress
from .store import Result, Store

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Task(Generic[Item]):
    """Item to run, and its result's key in the store; "" if it has none."""

    item: Item
    key: str = ""


Runner = Callable[[Sequence[Item]], Iterator[tuple[int, Result]]]


def sweep(
    tasks: Sequence[Task[Item]],
    run: Runner[Item],
    store: Store | None = None,
    text: str = "",
    anew: bool = False,
) -> list[Result]:
    """Return the results of all tasks, in order; store each as soon as it arrives.

    An interrupted sweep continues where it stopped, unless `anew`. Crashed tasks are tried
    again.
    """
    known = None if anew else store
    kept = [known.get(task.key) if known is not None and task.key else None for task in tasks]
    left = [number for number, result in enumerate(kept) if result is None]
    with progress(text, len(tasks), len(tasks) - len(left)) as one_more:
        for place, result in run([tasks[number].item for number in left]):
            number = left[place]
            kept[number] = result
            if store is not None and tasks[number].key and CRASHED not in result:
                store.put(tasks[number].key, result)
            one_more()
    if store is not None and left:
        store.trim()
    return [result for result in kept if result is not None]
