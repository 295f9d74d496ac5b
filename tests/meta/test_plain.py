"""Mechanisms that nobody would choose to maintain stay away.

No module of others is changed, no private name of theirs is used and nothing of a module changes
while a program runs, but for what is listed here, with the reason. The lists only become shorter.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src"
OURS = ("ttl", "tt_torch", "pykernel", "ttgraph")

# Attributes of other modules that are given a value: file, what -> why.
CHANGED = {
    ("ttl/diagnostics/errors.py", "sys.excepthook"): "documented: a diagnostic, no traceback",
    ("ttl/sim/printing.py", "builtins.print"): "during a run: lines name their kernel",
    ("ttl/cli/program.py", "sys.argv"): "a program gets its own arguments",
    ("ttl/cli/trials.py", "np.random.default_rng"): "`ttl tune`: the same elements",
    ("tt_torch/device.py", "nn.Module._apply"): "a module moves as one",
}

# Private names: file -> names and why.
FRAMES = "a frame is found by its number: CPython's own way, which warnings and logging use too"
LINKS = "xDSL pinned at 0.74: passes know what they make, docs/decisions/0031"
PARSER = "xDSL pinned at 0.74: its parser has no public way to read a type of another dialect"
PRIVATE: dict[str, tuple[set[str], str]] = {
    "_pyttlang_ttnn_finder.py": ({"_frozen_importlib"}, "imports nothing that is not loaded yet"),
    "ttl/config.py": ({"_data"}, "the environment is compared at every call, as it lies in memory"),
    "ttl/diagnostics/frames.py": ({"_getframe"}, FRAMES),
    "ttl/dialects/building.py": (
        {
            "_prev_op",
            "_next_op",
            "_first_op",
            "_last_op",
            "_next_block",
            "_first_block",
            "_prev_use",
            "_operand_uses",
        },
        LINKS,
    ),
    "ttl/dialects/foreign/parsing.py": (
        {
            "_parse_dialect_symbol_body",
            "_current_token",
            "_parse_op_result_list",
            "_parse_optional_token",
            "_parser_state",
            "_raw_scan_balanced",
            "_consume_token",
            "_register_ssa_definition",
            "_resume_from",
        },
        PARSER,
    ),
    "ttl/dialects/reading.py": (
        {"_resume_from", "_current_token", "_parse_dense_literal_type", "_parse_tensor_literal"},
        PARSER,
    ),
    "ttgraph/dialects/stablehlo/control.py": ({"_ssa_values"}, PARSER),
    "ttgraph/dialects/stablehlo/shardings.py": ({"_parse_dialect_symbol_body"}, PARSER),
    "ttgraph/dialects/ttnn.py": ({"_parse_dialect_symbol_body"}, PARSER),
    "ttl/dialects/verification.py": ({"_successors"}, LINKS),
    "ttl/frontend/functions.py": ({"_ParameterKind"}, "the type of a public value of inspect"),
    "ttgraph/jax.py": ({"_impl"}, "jax has no public type for the keys of its generators"),
    "ttl/loading/forks.py": (
        {"_bootstrap", "_lock_unlock_module", "_module_locks"},
        "a fork waits for imports: Python has no other way",
    ),
    "ttl/semantics/typed_source.py": (
        {"_getlines_from_code"},
        "Python 3.14 keeps the text of a -c nowhere else",
    ),
    "ttl/sim/deadlock.py": ({"_getframe"}, FRAMES),
    "ttl/sim/padding.py": ({"_getframe"}, FRAMES),
    "ttl/sim/place.py": ({"_getframe"}, FRAMES),
    "ttl/sim/repair.py": ({"_getframe"}, FRAMES),
    "ttl/sim/watchdog.py": ({"_current_frames"}, FRAMES),
    "ttgraph/cli/opt_options.py": ({"_option_string_actions"}, "argparse does not list options"),
    "ttl/cli/program.py": ({"_option_string_actions"}, "argparse does not list options"),
}
# PyTorch's way to make a device and a backend from outside; pinned at 2.13.
PRIVATE_IN = {"tt_torch/": "PyTorch has no public way to add a device and its operators"}
# Names with an underscore that are documented.
PUBLIC = {"_asdict", "_exit", "_fields", "_make", "_replace"}

# Names of modules that stand for something that changes: file, name -> why.
CACHE, CONTEXT, PROCESS = "a bounded cache", "of the calling thread", "one for a process"
TABLE, LOCK = "filled while its module loads", "a lock, new in a fork"
STATE = {
    "tt_torch/capture.py": {"TRACING": LOCK},
    "tt_torch/device.py": {"_HOSTS": PROCESS},
    "tt_torch/eager.py": {"_CALLS": CACHE},
    "tt_torch/executable.py": {"_RUNTIMES": CACHE},
    "tt_torch/lowering/emitter.py": {"LOWERINGS": TABLE, "PAIRS": TABLE},
    "tt_torch/registry.py": {"_LOCK": LOCK, "_ENTRIES": "the operations that a program registers"},
    "ttl/config.py": {"_PROCESS": "what the command line chose", "_CHOSEN": CONTEXT},
    "pykernel/iteration.py": {"_COUNTERS": PROCESS},
    "pykernel/objects.py": {"ARGUMENTS": CONTEXT, "STREAMS": CONTEXT},
    "ttl/diagnostics/activity.py": {"ACTIVITIES": "what an interrupt names"},
    "ttl/diagnostics/code_table.py": {"CATALOGUE": TABLE},
    "ttl/diagnostics/deadlock.py": {"REORDERED": CONTEXT},
    "ttl/diagnostics/diagnostic.py": {"OBSERVER": CONTEXT},
    "ttl/diagnostics/frames.py": {"_LIBRARIES": "libraries of kernels that a program imports"},
    "pykernel/dialects/d2m.py": {"TILES": TABLE},
    "ttl/dialects/emitc.py": {"OPERATORS": TABLE},
    "ttl/dialects/ttkernel.py": {"CALLS": TABLE},
    "ttl/driver/__init__.py": {"PROCESS_DRIVER": PROCESS},
    "ttl/driver/compile.py": {"_COMPILING": LOCK, "_deep_calls": PROCESS},
    "ttl/host/execution.py": {"in_flight": "what a second interrupt ends"},
    "ttl/host/launcher.py": {"_READY": CACHE},
    "ttl/language/engine.py": {"LAUNCH_HOOK": "bound once, when the driver is loaded"},
    "ttl/language/functions.py": {"math": TABLE, "block_functions": TABLE},
    "ttl/loading/garbage.py": {"without_collecting": PROCESS},
    "ttl/semantics/block_protocol.py": dict.fromkeys(("MW", "RW", "NAW", "ROR", "OS", "MR"), TABLE),
    "ttl/semantics/current_engine.py": dict.fromkeys(
        ("ENGINE", "TRACE", "SCOPE", "CALLS"), CONTEXT
    ),
    "ttl/semantics/function_source.py": {"_TEXTS": CACHE, "_MADE": CACHE},
    "ttl/semantics/ops/arguments.py": {"NO_PARAMETERS": "never changed", "_CHECKED": CACHE},
    "ttl/sim/blas.py": {"one_blas_thread": PROCESS},
    "ttl/sim/garbage.py": {"rare_collections": PROCESS},
    "ttl/sim/printing.py": {"language_print": PROCESS},
    "ttl/sim/simulation.py": {"_ABANDONED": "kernels that Python may not end yet"},
    "ttl/sim/slots.py": {"_KEPT": "memory for the next run"},
    "ttl/sim/workers.py": {"_IDLE": "threads for the next run"},
    "ttl/source/facts/__init__.py": {"_USES": CACHE},
    "ttl/source/facts/releases.py": {"_POINTS": CACHE},
    "ttl/source/functions.py": {"REPLACED": PROCESS},
    "ttl/source/trees.py": {"_KNOWN": CACHE},
    "ttl/source/unified/unify.py": {"_UNIFIED": CACHE},
    "ttl/ttnn/printing.py": {"OPTIONS": CONTEXT},
    "ttl/studio/tuning/tuner.py": {"_PROCESS_TUNER": PROCESS},
}

# Who asks which options hold, and who names the driver of the process: where a call of the user, a
# hook or a command comes in. What they call is given the options and the objects that it needs.
ASKS_OPTIONS = {
    "pykernel/d2m_api.py": {"PykernelFunction.__call__"},
    "tt_torch/executable.py": {"Executable.__init__"},
    "ttgraph/flatbuffer/compile.py": {"compile_module"},
    "ttgraph/flatbuffer/launching.py": {"launching"},
    "ttgraph/flatbuffer/runtime.py": {"Runtime.__init__"},
    "ttl/cli/trials.py": {"_OneTrial.tune"},  # in the place of the hook for tuned operations
    "ttl/config.py": {"process_config"},
    "ttl/driver/__init__.py": {"load_engines"},  # the hook for definitions, and commands
    "ttl/driver/generic_programs.py": {"launch"},  # ttnn.generic_op
    "ttl/driver/launch.py": {"Driver.launch", "Driver.bind", "Driver.compile"},
    "ttl/driver/specs.py": {"compile_from_spec"},
    "ttl/studio/lsp/calls.py": {"_write"},  # what holds when the program has ended
    "ttl/studio/lsp/worker.py": {"look"},
    "ttl/studio/tuning/tuner.py": {"Tuner.tune"},
    "ttl/ttnn/device.py": {"_chip", "devices_there_are", "new_device"},
    "ttl/ttnn/mesh.py": {"_in_processes"},
}
NAMES_DRIVER = {
    "pykernel/d2m_api.py": {"PykernelFunction._run"},
    "ttgraph/flatbuffer/launching.py": {"launching"},
    "ttl/__init__.py": {"_bind", "_compile"},
    "ttl/cli/process.py": {"program_driver"},
    "ttl/driver/__init__.py": {""},
    "ttl/driver/generic_programs.py": {"launch"},
}
# Those two by other names.
ASKS_LAUNCHING = {
    "ttgraph/d2m_graph.py": {"run_ttir"},
    "ttgraph/flatbuffer/metal_runtime.py": {"MetalRuntime.run"},
    "ttgraph/flatbuffer/runtime.py": {"Runtime.run", "run_traced"},
    "ttgraph/metal_program.py": {"run_metal"},
}
ASKS_DRIVER = {
    "ttl/cli/calibrate.py": {"_measured_lines"},
    "ttl/cli/trials.py": {"try_program"},  # a job
    "ttl/cli/view.py": {"_program"},
    **{
        f"ttl/cli/{verb}.py": {"run"}
        for verb in (
            "check",
            "compile",
            "estimate",
            "lower",
            "replay",
            "run",
        )
    },
}

TREES = {
    str(file.relative_to(SOURCES)): ast.parse(file.read_text(encoding="utf-8"))
    for file in sorted(SOURCES.rglob("*.py"))
}


def foreign(tree: ast.AST) -> dict[str, str]:
    """The names under which a module has others, or something of them."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                found[(each.asname or each.name).partition(".")[0]] = each.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for each in node.names:
                found[each.asname or each.name] = f"{node.module}.{each.name}"
    return {
        name: origin
        for name, origin in found.items()
        if not origin.startswith((*OURS, "_pyttlang", "__future__"))
    }


def root_of(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def test_no_module_of_others_is_changed() -> None:
    found = set()
    for file, tree in TREES.items():
        names = foreign(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
                if root_of(node) in names:
                    found.add((file, ast.unparse(node)))
            elif (
                isinstance(node, ast.Call)
                and ast.unparse(node.func) in ("setattr", "delattr")
                and root_of(node.args[0]) in names
            ):
                found.add((file, ast.unparse(node)))
    assert found == CHANGED.keys()


def own_names() -> set[str]:
    found = set()
    for tree in TREES.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found |= {node.attr} if root_of(node) in ("self", "cls", "made") else set()
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
    return found


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def asked_by_text(node: ast.AST) -> tuple[ast.expr, str] | None:
    """The object and the name of getattr(), setattr() and so on."""
    match node:
        case ast.Call(func, [owner, ast.Constant(str(name)), *_]) if "attr" in ast.unparse(func):
            return owner, name
    return None


def private_names(tree: ast.AST, own: set[str]) -> Iterator[str]:
    others = foreign(tree)
    for node in ast.walk(tree):
        asked = (node.value, node.attr) if isinstance(node, ast.Attribute) else asked_by_text(node)
        if asked is not None and is_private(asked[1]):
            if asked[1] not in own or root_of(asked[0]) in others:
                yield asked[1]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = (*node.module.split("."), *(each.name for each in node.names))
            if not node.module.startswith((*OURS, "_pyttlang")):
                yield from filter(is_private, names)


def test_private_names_of_others_are_listed() -> None:
    own = own_names()
    found = {
        file: {*private_names(tree, own)}
        for file, tree in TREES.items()
        if not file.startswith(tuple(PRIVATE_IN))
    }
    assert {file: names for file, names in found.items() if names} == {
        file: names for file, (names, _) in PRIVATE.items()
    }


MUTATING = {
    "add",
    "append",
    "clear",
    "discard",
    "extend",
    "insert",
    "pop",
    "popitem",
    "remove",
    "setdefault",
    "update",
}


FIXED = ("frozen=True", "NamedTuple", "Enum", "Attribute", "EqualParts")


def may_change(node: ast.ClassDef) -> bool:
    """May an object of this class?"""
    texts = [ast.unparse(each) for each in (*node.decorator_list, *node.bases)]
    marks = [text for text in texts if not text.startswith("Generic[")]
    if any(word in mark for mark in marks for word in FIXED):
        return False
    return bool(node.bases) or "__slots__ = ()" not in map(ast.unparse, node.body)


def changing_classes(tree: ast.Module) -> set[str]:
    """The names of classes of ours whose objects may change, as a module uses them."""
    own = {node.name: may_change(node) for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    ours = {name for name, changes in EVERYWHERE.items() if changes}
    return {name for name in ours - foreign(tree).keys() if own.get(name, True)}


# A name is of a class whose objects may change if one of ours that has it is.
EVERYWHERE: dict[str, bool] = {}
for _tree in TREES.values():
    for _node in ast.walk(_tree):
        if isinstance(_node, ast.ClassDef):
            EVERYWHERE[_node.name] = EVERYWHERE.get(_node.name, False) or may_change(_node)


def changed_names(tree: ast.AST) -> Iterator[str]:
    """What functions of a module change by its name."""
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.Lambda))
    for node in (inner for each in functions for inner in ast.walk(each)):
        if isinstance(node, ast.Global):
            yield from node.names
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in MUTATING and isinstance(node.func.value, ast.Name):
                yield node.func.value.id
        elif (
            isinstance(node, ast.Subscript | ast.Attribute)
            and isinstance(node.value, ast.Name)
            and isinstance(node.ctx, ast.Store | ast.Del)
        ):
            yield node.value.id


def module_state(tree: ast.Module, classes: set[str]) -> Iterator[str]:
    changed = {*changed_names(tree)}
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if not isinstance(target, ast.Name) or value is None:
            continue
        made = ast.unparse(value.func).partition("[")[0] if isinstance(value, ast.Call) else ""
        is_container = isinstance(value, ast.Dict | ast.List | ast.Set | ast.Call | ast.Constant)
        if made == "ContextVar" or made in classes or (target.id in changed and is_container):
            yield target.id


def test_what_changes_in_modules_is_listed() -> None:
    found = {file: {*module_state(tree, changing_classes(tree))} for file, tree in TREES.items()}
    assert {file: names for file, names in found.items() if names} == {
        file: set(names) for file, names in STATE.items()
    }


def test_nothing_reads_code_of_its_own_keeping() -> None:
    for file, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                modules = {getattr(node, "module", ""), *(each.name for each in node.names)}
                assert "marshal" not in modules, file


def named_places(node: ast.AST, is_meant: Callable[[ast.AST], bool], inside: str = "") -> set[str]:
    """The functions in which something stands."""
    found = set()
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            found |= named_places(child, is_meant, f"{inside}.{child.name}".removeprefix("."))
        else:
            found |= named_places(child, is_meant, inside)
            found |= {inside} if is_meant(child) else set()
    return found


def all_places(is_meant: Callable[[ast.AST], bool]) -> dict[str, set[str]]:
    found = {file: named_places(tree, is_meant) for file, tree in TREES.items()}
    return {file: places for file, places in found.items() if places}


def is_asking(node: ast.AST) -> bool:
    """`current` of a class, by whatever name it was imported: none but Config has that."""
    if not isinstance(node, ast.Attribute) or node.attr != "current":
        return False
    owner = ast.unparse(node.value).rpartition(".")[2]
    return owner == "cls" or owner[:1].isupper()


def is_driver(node: ast.AST) -> bool:
    return "PROCESS_DRIVER" in (getattr(node, "id", ""), getattr(node, "attr", ""))


def is_call_of(name: str) -> Callable[[ast.AST], bool]:
    return lambda node: isinstance(node, ast.Call) and ast.unparse(node.func) == name


def test_entries_ask_for_options_and_the_driver() -> None:
    assert all_places(is_asking) == ASKS_OPTIONS
    assert all_places(is_driver) == NAMES_DRIVER
    assert all_places(is_call_of("launching")) == ASKS_LAUNCHING
    assert all_places(is_call_of("program_driver")) == ASKS_DRIVER
