"""The table of what the real ttnn answers, and how an expression of it is answered.

Also a program, which the tests run in an environment with the real ttnn: it prints, as JSON, what
that answers to the rows that need no device, and the parameters of the operations it is asked for.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

TABLE = Path(__file__).with_suffix(".toml")
RAISED = "!"


@dataclass(frozen=True, slots=True)
class Row:
    section: str
    expression: str
    real: str
    source: str  # "wheel" or "device"
    reason: str = ""  # why the embedded ttnn answers differently

    def __str__(self) -> str:
        return f"{self.section}: {self.expression}"


def table() -> list[Row]:
    sections = tomllib.loads(TABLE.read_text(encoding="utf-8"))["section"]
    return [Row(section["name"], *row) for section in sections for row in section["rows"]]


def answer(ttnn: ModuleType, expression: str, names: dict[str, Any]) -> str:
    """The repr of its value, or the names of what it raises, the most special first."""
    given = {"np": np, "ttnn": ttnn, "H": _host(ttnn), **names}
    try:
        return repr(eval(expression, given))
    except Exception as error:
        return RAISED + " ".join(kind.__name__ for kind in type(error).__mro__)


def agrees(found: str, real: str) -> bool:
    if real.startswith(RAISED):
        return found.startswith(RAISED) and real[1:] in found[1:].split()
    return found == real


def _host(ttnn: ModuleType) -> Any:
    return ttnn.Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))


# The parameters of the real operations ------------------------------------------------------------


def parameters(ttnn: ModuleType, name: str) -> list[tuple[list[str], list[str]]]:
    """Of each form of an operation: the names by position, and those by keyword only."""
    function: Any = ttnn
    for part in name.split("."):
        function = getattr(function, part)
    function = getattr(function, "function", function)
    if not hasattr(function, "__nb_signature__"):
        function = type(function).__call__
    return [_parameters(form[0]) for form in function.__nb_signature__]


def _parameters(signature: str) -> tuple[list[str], list[str]]:
    inside = signature[signature.index("(") + 1 : signature.rindex(") ->")]
    flat = re.sub(r"\[[^\[\]]*\]", "", re.sub(r"\[[^\[\]]*\]", "", inside))
    names = [part.strip().partition(":")[0] for part in flat.split(", ")]
    names = [name for name in names if name not in ("self", "/")]
    if "*" not in names:
        return names, []
    star = names.index("*")
    return names[:star], names[star + 1 :]


def main(operations: list[str]) -> None:
    import ttnn

    asked = [row.expression for row in table() if row.source == "wheel"]
    answers = {expression: answer(ttnn, expression, {}) for expression in asked}
    forms = {name: parameters(ttnn, name) for name in operations}
    print(json.dumps({"answers": answers, "parameters": forms}))


if __name__ == "__main__":
    main(sys.argv[1:])
