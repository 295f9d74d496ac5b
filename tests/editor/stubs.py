"""Makes the stubs that editors and type checkers read.

python tests/editor/stubs.py            write them
python tests/editor/stubs.py --check    exit 1 if one is out of date

`ttl.math` and `ttl.block` are made from the op table when ttl is imported, and `import ttnn` is
served by a finder: neither is a file that a type checker could read. `ttl`, `ttl.ttnn` and
`ttl.sim` get names when they are imported or first asked for, which a type checker cannot follow.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from inspect import Parameter, cleandoc, signature
from itertools import chain
from pathlib import Path
from textwrap import wrap
from types import ModuleType
from typing import Any

import ttl
from ttl import sim, ttnn
from ttl.language.functions import FLAT, Function
from ttl.language.old_names import OLD_NAMES
from ttl.semantics.dtypes import DType
from ttl.semantics.ops import BLOCK_OPS, BlockOp, ParameterKind
from ttl.ttnn.operations import OPERATIONS

SOURCES = Path(__file__).parents[2] / "src"
HEAD = '"""{}"""\n\n# ruff: noqa\n# Written by `python tests/editor/stubs.py`; do not edit.\n\n'
EXPRESSION = "BlockExpression"
LONGEST = 100  # line
TYPES = {
    ParameterKind.NUMBER: "float",
    ParameterKind.NATURAL: "int",
    ParameterKind.INTEGER: "int",
    ParameterKind.FLAG: "bool",
    ParameterKind.DIMS: "int | Sequence[int]",
    ParameterKind.DTYPE: "Any",
    ParameterKind.SHAPE: "Sequence[int] | None",
}
# Names of ttnn whose module calls them otherwise.
OTHERWISE_NAMED = {"Device": "AnyDevice as Device", "MeshDevice": "AnyDevice as MeshDevice"}
PLAIN_NUMBERS = "ttl.semantics.types"  # where those of ttnn are


def stubs() -> dict[Path, str]:
    """Every stub by its path in src."""
    found = {
        Path("ttl/math.pyi"): _math(),
        Path("ttl/block.pyi"): _block(),
        Path("ttl/_flat.pyi"): _flat(),
        Path("ttl/__init__.pyi"): _ttl(),
        Path("ttl/sim/__init__.pyi"): _sim(),
        Path("ttl/ttnn/__init__.pyi"): _embedded_ttnn(),
        Path("ttnn-stubs/__init__.pyi"): _ttnn(),
    }
    for name in ttnn.MODULES:
        found[Path(f"ttnn-stubs/{name}.pyi")] = _reexported(import_module(f"ttl.ttnn.{name}"))
    return found


# ttl.math and ttl.block ---------------------------------------------------------------------------


def _math() -> str:
    written = _stubs(_functions(ttl.math))
    head = HEAD.format("The functions of the op table.") + _imports() + _all(written)
    return f"{head}\n" + "\n".join(written.values())


def _block() -> str:
    functions = _functions(ttl.block)
    return _beside_math("Functions that arrange, fill and select.", functions, _all(functions))


def _beside_math(summary: str, functions: Mapping[str, Function], more: str) -> str:
    """What ttl.math has alike is imported from there; `more` stands after the imports."""
    known = _stubs(_functions(ttl.math)).items()
    found = _stubs(functions)
    shared = [name for name, stub in found.items() if (name, stub) in known]
    written = [stub for name, stub in found.items() if name not in shared]
    text = HEAD.format(summary) + (_imports() if written else "")
    return text + _import("ttl.math", shared) + more + "\n".join(["", *written])


def _functions(namespace: ModuleType) -> dict[str, Function]:
    return {name: getattr(namespace, name) for name in namespace.__all__}


def _stubs(functions: Mapping[str, Function]) -> dict[str, str]:
    return {name: _stub(functions[name], BLOCK_OPS.get(name)) for name in sorted(functions)}


def _imports() -> str:
    return (
        "from collections.abc import Sequence\nfrom typing import Any, overload\n\n"
        "from ttl.language.block import Block, BlockExpression\n"
    )


def _stub(function: Function, op: BlockOp | None) -> str:
    op = None if function.__name__ == "matmul" else op  # written by hand, with its own signature
    ways = [_parameters(function, op), *_other_ways(function, op)]
    overload = "@overload\n" if len(ways) > 1 else ""
    first, *others = [f"{overload}{_head(function.__name__, way)}" for way in ways]
    return f"{first}\n{_docstring(function)}" + "".join(f"{each} ...\n" for each in others)


def _head(name: str, parameters: list[str]) -> str:
    line = f"def {name}({', '.join(parameters)}) -> {EXPRESSION}:"
    if len(line) + len(" ...") <= LONGEST:
        return line
    listed = "".join(f"    {each},\n" for each in parameters)
    return f"def {name}(\n{listed}) -> {EXPRESSION}:"


def _docstring(function: Function) -> str:
    given = f'"""{cleandoc(function.__doc__ or "")}'.splitlines()
    lines = [part for line in given for part in wrap(line, LONGEST - 4) or [""]]
    return "".join(f"    {line}".rstrip() + "\n" for line in (*lines, '"""'))


def _parameters(
    function: Function, op: BlockOp | None, renamed: dict[str, str] | None = None
) -> list[str]:
    shown, is_keyword_only = [], False
    for parameter in signature(function).parameters.values():
        if parameter.kind is Parameter.KEYWORD_ONLY and not is_keyword_only:
            shown.append("*")
            is_keyword_only = True
        name = (renamed or {}).get(parameter.name, parameter.name)
        default = "" if parameter.default is Parameter.empty else f" = {parameter.default!r}"
        shown.append(f"{name}: {_type(parameter, op)}{default}")
    return shown


def _type(parameter: Parameter, op: BlockOp | None) -> str:
    if op is None:
        return {"bool": "bool", "object": EXPRESSION, "Any": EXPRESSION}[str(parameter.annotation)]
    kinds = {each.name: each.kind for each in (*op.parameters, *_flags(op))}
    if parameter.name in kinds:
        return TYPES[kinds[parameter.name]]
    return f"{EXPRESSION} | float" if parameter.name in op.scalars else EXPRESSION


def _flags(op: BlockOp) -> tuple[Any, ...]:
    return op.with_flags.parameters if op.with_flags is not None else ()


def _other_ways(function: Function, op: BlockOp | None) -> Iterator[list[str]]:
    """With the keywords of public versions, and with a block that gives the shape."""
    if op is None:
        return
    if op.aliases:  # of two keywords for one argument the first
        names = {ours: theirs for theirs, ours in reversed(op.aliases.items())}
        yield _parameters(function, op, names)
    for form in op.forms:
        call = ast.parse(form, mode="eval").body
        assert isinstance(call, ast.Call)
        given = [each.id for each in call.args if isinstance(each, ast.Name)]
        if "out_blk" in given:
            yield list(_form_parameters(function, op, given, call.keywords))


def _form_parameters(
    function: Function, op: BlockOp, given: list[str], keywords: list[ast.keyword]
) -> Iterator[str]:
    known = signature(function).parameters
    for name in (*given, *(each.arg for each in keywords if each.arg)):
        yield f"{name}: Block" if name == "out_blk" else f"{name}: {_type(known[name], op)}"


# Flat names ---------------------------------------------------------------------------------------


def _flat() -> str:
    """`ttl.exp` as well as `ttl.math.exp`, operators as functions, and older names."""
    old = "".join(
        f"from ttl.language import {now.present} as {name}\n"
        for name, now in sorted(OLD_NAMES.items())
    )
    return _beside_math(
        "What `ttl` names beside its `__all__`.", FLAT, old + _all({*FLAT, *OLD_NAMES})
    )


# ttl and ttl.sim ----------------------------------------------------------------------------------


def _ttl() -> str:
    """In a stub, what `import *` brings is public beside `__all__`."""
    homes = {"ttl.arrays": ttl.arrays.__all__, "ttl.language": ttl.language.__all__}
    made = {"block", "math", *chain.from_iterable(homes.values())}
    homes["ttl.diagnostics"] = [name for name in ttl.__all__ if name not in made]
    return (
        HEAD.format("TT-Lang in Python: the public names.")
        + "import ttl as ttl\nfrom ttl import block, math\nfrom ttl._flat import *\n"
        + "".join(_import(home, sorted(names)) for home, names in sorted(homes.items()))
        + "\nBlockExpr = BlockExpression\n__version__: str\n"
        + _all(ttl.__all__)
    )


def _sim() -> str:
    """Every name of `ttl`, too: programs for the public simulator take them from here."""
    return HEAD.format("The simulator, and the names that programs take from it.") + (
        "import ttl as ttl\nfrom ttl import *\nfrom ttl import BlockExpr as BlockExpr\n"
        "from ttl import ttnn as ttnn\nfrom ttl._flat import *\n"
        "from ttl.sim.simulation import run\n" + _all(sim.__all__)
    )


# ttnn ---------------------------------------------------------------------------------------------


def _ttnn() -> str:
    text = HEAD.format("ttnn as pyttlang has it where the real one is not installed.")
    return text + _import("ttl.ttnn", sorted(ttnn.__all__)) + _all(ttnn.__all__)


def _embedded_ttnn() -> str:
    """Each name from the module that defines it."""
    types = {dtype.spelling.removeprefix("ttnn."): dtype.name for dtype in ttnn.DataType}
    homes = {DType.__module__: [DType.__name__]}
    for name in sorted(set(ttnn.__all__) - set(ttnn.MODULES) - {"DataType", *types}):
        homes.setdefault(_home(name), []).append(OTHERWISE_NAMED.get(name, name))
    return (
        HEAD.format("The embedded stand-in for ttnn: its public names.")
        + "from typing import ClassVar\n\n"
        + "".join(_import(home, names) for home, names in sorted(homes.items()))
        + f"\nfrom . import {', '.join(sorted(ttnn.MODULES))}\n"
        + _types(types)
        + _all(ttnn.__all__)
    )


def _home(name: str) -> str:
    for part, operations in OPERATIONS.items():
        if name in operations:
            return f"ttl.ttnn.operations.{part}"
    return getattr(getattr(ttnn, name), "__module__", PLAIN_NUMBERS)


def _types(names: dict[str, str]) -> str:
    """As in the real ttnn: ttnn.bfloat16 is a ttnn.DataType, which has it as a member too."""
    members = "".join(f"    {member}: ClassVar[DataType]\n" for member in names.values())
    values = "".join(f"{name}: DataType\n" for name in names)
    made = "    def __init__(self, value: int) -> None: ...\n"
    return f"\nclass DataType(DType):\n{members}{made}\n{values}"


def _reexported(module: ModuleType) -> str:
    home = module.__name__
    own = [n for n, value in vars(module).items() if getattr(value, "__module__", "") == home]
    names = getattr(module, "__all__", None) or own
    summary = (module.__doc__ or "").splitlines()[0]
    public = sorted(name for name in names if name[0] != "_")
    return HEAD.format(summary) + _import(module.__name__, public) + _all(public)


def _import(module: str, names: list[str]) -> str:
    return f"from {module} import (\n{_filled(names)})\n"


def _all(names: Iterable[str]) -> str:
    return f"\n__all__ = [\n{_filled(repr(name) for name in sorted(names))}]\n".replace("'", '"')


def _filled(names: Iterable[str]) -> str:
    """As many in a line as it has room for."""
    lines = wrap(", ".join(names) + ",", LONGEST - 4)
    return "".join(f"    {line}\n" for line in lines)


def is_up_to_date() -> bool:
    files = {SOURCES / path: text for path, text in stubs().items()}
    return all(file.is_file() and file.read_text() == text for file, text in files.items())


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(not is_up_to_date())
    for path, text in stubs().items():
        (SOURCES / path).write_text(text)
