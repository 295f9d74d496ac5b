"""Which names a kernel can use with the headers that it includes, where more are included.

The text is preprocessed, with the macros (-dD) and the includes (-dI) that were met: a file that is
not entered a second time is named by its include all the same.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property

from .kernel_text import declared_in
from .translation_unit import KERNEL_FILE

_MARKER = re.compile(r'# \d+ "([^"]+)"( 1)?')  # 1: the file is entered
_INCLUDE = re.compile(r'#include(?:_next)? ([<"][^>"]+[>"])')
_USED = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?=\s*[(<:.])")


class Names:
    def __init__(self, expanded: str) -> None:
        self._lines: dict[str, list[str]] = defaultdict(list)  # by file
        self._includes: dict[str, list[str]] = defaultdict(list)  # as they are written, by file
        self._files: dict[str, set[str]] = defaultdict(set)  # that such an include led to
        self._before, _, after = expanded.partition(f'"{KERNEL_FILE}"')
        self._read(after)

    def _read(self, expanded: str) -> None:
        file = KERNEL_FILE
        entered = ""
        for line in expanded.splitlines()[1:]:
            if marker := _MARKER.match(line):
                file = marker[1]
                if entered and marker[2]:
                    self._files[entered].add(file)
                    entered = ""
            elif include := _INCLUDE.match(line):
                self._includes[file].append(include[1])
                entered = include[1]
            elif line:
                self._lines[file].append(line)
                entered = ""

    @cached_property
    def _declared(self) -> dict[str, set[str]]:
        headers = {file: lines for file, lines in self._lines.items() if file != KERNEL_FILE}
        return {file: declared_in("\n".join(lines)) for file, lines in headers.items()}

    @cached_property
    def _all(self) -> set[str]:
        return set().union(*self._declared.values())

    @cached_property
    def _of_everyone(self) -> set[str]:
        """What is there before the kernel."""
        return declared_in(self._before)

    def lacking(self, includes: Iterable[str], text: str) -> set[str]:
        """What the text uses and only headers declare that are not among its includes."""
        reached = self._reached(includes)
        own = set().union(*(self._declared.get(file, ()) for file in reached))
        lacking = (self._all - own).intersection(_USED.findall(text))
        return lacking - self._of_everyone if lacking else lacking

    def _reached(self, includes: Iterable[str]) -> set[str]:
        reached: set[str] = set()
        waiting = list(includes)
        while waiting:
            files = self._files.get(waiting.pop(), set())
            # Two files of one name: whichever is meant, without it more is lacking than there is.
            if len(files) == 1 and not files <= reached:
                reached |= files
                waiting += self._includes[next(iter(files))]
        return reached
