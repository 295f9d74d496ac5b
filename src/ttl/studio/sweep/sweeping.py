"""A sweep: jobs whose results are known already, and the others, which somebody runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from .job import CRASHED, Result
from .progress import progress
from .store import Store

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Task(Generic[Item]):
    """Something to run, and the key under which its result is kept; "" if it cannot be."""

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
    """The results of all tasks, in their order; each is kept as soon as it is there.

    So a sweep that was interrupted goes on where it was, unless all is to be done `anew`. What a
    crash left is tried again.
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
