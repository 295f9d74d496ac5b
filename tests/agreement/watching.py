"""Calls of operations, compared with what the other ways to treat them say."""

from __future__ import annotations

from collections import Counter
from types import CodeType
from typing import Any

import ttl.driver
from agreement.verdicts import Arguments, Codes, codes_of, copied, is_comparable, judged
from ttl.diagnostics import TTLError
from ttl.language import Operation

MOST_CALLS = 3  # of one operation in a test: most call it again and again


def _unseen(function: Any) -> Any:
    """Let diagnostics point past the function, to the call in the program."""
    function.__code__ = function.__code__.replace(co_filename="<frozen agreement>")
    return function


class Watched:
    """The calls of operations that a test makes."""

    def __init__(self) -> None:
        self.differences: set[str] = set()
        self.calls: Counter[CodeType] = Counter()
        self.is_inside = False

    @_unseen
    def launch(self, operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        plain = ttl.driver.launch
        calls = self.calls[operation.function.__code__]
        if self.is_inside or calls == MOST_CALLS or not _asks_for_a_run():
            plain(operation, args, kwargs)
            return
        self.calls[operation.function.__code__] += 1
        self.is_inside, given = True, copied((args, kwargs))
        try:
            plain(operation, args, kwargs)
        except TTLError as error:
            self._compare(codes_of(error.diagnostics), operation, given)
            raise
        else:
            self._compare((), operation, given)
        finally:
            self.is_inside = False

    def _compare(self, said: Codes, operation: Operation, arguments: Arguments) -> None:
        verdict = judged(said, operation, arguments)
        if not verdict.agrees:
            self.differences.add(str(verdict))


def _asks_for_a_run() -> bool:
    try:
        return is_comparable()
    except TTLError:  # an option has a wrong value
        return False
