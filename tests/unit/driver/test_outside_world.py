"""A kernel that depends on the world outside of it gets the present one, whatever was kept."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from golden.example_programs import load_file
from ttl import ttnn
from ttl.driver import Driver

DEVICE = ttnn.open_device(device_id=0)
CLASSES: list[type] = []  # of the program of a test
FRAME = """
import os
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
import ttl

HEAD

@ttl.operation(grid=(1, 1))
def operation(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.compute()
    def compute():
        with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
            y_blk.store(a_blk * helped())

    @ttl.datamovement()
    def read():
        with a_dfb.reserve() as a_blk:
            ttl.copy(a[0, 0], a_blk).wait()

    @ttl.datamovement()
    def write():
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[0, 0]).wait()
"""
OBJECT = "thing = Thing()\ndef helped():\n    return "
PROPERTY = "class Thing:\n    @property\n    def f(self):\n        return "
HEADS = {
    "an import in a function": "def helped():\n    from outside import FACTOR\n    return FACTOR",
    "a module that is imported in a function": (
        "def helped():\n    import outside\n    return outside.FACTOR"
    ),
    "a property": (f"{PROPERTY}float(os.getenv('F'))\n{OBJECT}thing.f"),
    "an item": (
        "class Thing:\n    def __getitem__(self, i):\n        return float(os.environ['F'])\n"
        + OBJECT
        + "thing[0]"
    ),
    "a length": (
        "class Thing:\n    def __len__(self):\n        return int(os.environ['F'])\n"
        + OBJECT
        + "len(thing)"
    ),
    "what was kept for a property": (
        "@lru_cache\ndef kept():\n    return float(os.environ['F'])\n"
        f"{PROPERTY}kept()\n{OBJECT}thing.f"
    ),
    "a default of a dataclass": (
        "@dataclass(slots=True)\nclass Part:\n    f: float = float(os.environ['F'])\n"
        f"{PROPERTY}Part().f\n{OBJECT}thing.f"
    ),
    "a module that makes its attributes": (
        "import dynamic\ndef helped():\n    return dynamic.FACTOR"
    ),
    "an attribute with a name that is made": (
        "import outside\nPART = 'FAC'\ndef helped():\n    return getattr(outside, PART + 'TOR')"
    ),
    "an attribute of a member": (
        "class Mode(Enum):\n    A = 'a'\nMode.A.f = float(os.environ['F'])\n"
        "def helped():\n    return Mode.A.f"
    ),
    "a function that a list holds, too": (
        "def now():\n    return float(os.environ['F'])\nheld = [now]\n"
        f"{PROPERTY}now()\n{OBJECT}thing.f * len(held)"
    ),
    "an object that is made, and named before": (
        "class Part:\n    def __init__(self):\n        self.f = float(os.environ['F'])\n"
        f"held = [Part]\n{PROPERTY}Part().f\n{OBJECT}thing.f * len(held)"
    ),
    "a function of a module": f"import outside\n{PROPERTY}outside.now()\n{OBJECT}thing.f",
    "the attributes of a module": (
        "import outside\nPART = 'FAC'\ndef helped():\n    return outside.__dict__[PART + 'TOR']"
    ),
    "the globals of a function": (
        "import outside\nPART = 'FAC'\n"
        "def helped():\n    return outside.now.__globals__[PART + 'TOR']"
    ),
    "the globals of a frame": (
        "import sys\nFACTOR = float(os.environ['F'])\nPART = 'FAC'\n"
        f"{PROPERTY}sys._getframe().f_globals[PART + 'TOR']\n{OBJECT}thing.f"
    ),
    "an attribute that a function of Python gets": (
        "import outside\nfrom operator import attrgetter\nPART = 'FAC'\n"
        f"{PROPERTY}attrgetter(PART + 'TOR')(outside)\n{OBJECT}thing.f"
    ),
    "the text of an object": (
        "from os import getenv\nclass Thing:\n    def __repr__(self):\n        return getenv('F')\n"
        f"{OBJECT}float(repr(thing))"
    ),
    "an object in a text": (
        "from os import getenv\nclass Thing:\n    def __str__(self):\n        return getenv('F')\n"
        f"{OBJECT}float(f'{{thing}}')"
    ),
    "a description of a field": (
        "from dataclasses import fields\n@dataclass\nclass Part:\n"
        "    f: int = field(default=0, metadata={'f': float(os.environ['F'])})\n"
        f"{PROPERTY}fields(Part)[0].metadata['f']\n{OBJECT}thing.f"
    ),
    "a list beside Python's own functions": (
        "import builtins\nbuiltins.FACTORS = [float(os.environ['F'])]\n"
        "def helped():\n    return FACTORS[0]"
    ),
}
MODULES = {
    "outside": (
        "import os\nFACTOR = float(os.environ['F'])\ndef now():\n    return float(os.getenv('F'))\n"
    ),
    "dynamic": "import os\ndef __getattr__(name):\n    return float(os.environ['F'])\n",
}


def tensor(value: float) -> Any:
    return ttnn.full((32, 32), value, dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the program is; artifacts are kept."""
    monkeypatch.setenv("TTL_BACKEND", "host")
    monkeypatch.delenv("TTL_ALWAYS_COMPILE", raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path / "program.py"


def result(driver: Driver, operation: Any) -> float:
    y = tensor(0.0)
    driver.launch(operation, (tensor(3.0), y), {})
    return float(y.storage.logical.flat[0])


@pytest.mark.parametrize("name", HEADS)
def test_another_process_in_another_world(
    program: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    program.write_text(FRAME.replace("HEAD", HEADS[name]))
    for factor in (2, 5, 2):
        monkeypatch.setenv("F", str(factor))
        for module in MODULES:
            sys.modules.pop(module, None)
        assert result(Driver(), load_file(program).operation) == 3.0 * factor


@pytest.mark.parametrize("name", ["a property", "an item", "a length"])
def test_a_world_that_changes_between_two_calls(
    program: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    program.write_text(FRAME.replace("HEAD", HEADS[name]))
    monkeypatch.setenv("F", "2")
    driver, operation = Driver(), load_file(program).operation
    for factor in (2, 5):
        monkeypatch.setenv("F", str(factor))
        assert result(driver, operation) == 3.0 * factor


def test_an_attribute_of_an_imported_module_that_changes(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program.write_text(FRAME.replace("HEAD", HEADS["an import in a function"]))
    monkeypatch.setenv("F", "2")
    sys.modules.pop("outside", None)
    driver, operation = Driver(), load_file(program).operation
    assert result(driver, operation) == 6
    sys.modules["outside"].FACTOR = 11.0  # type: ignore[attr-defined]
    assert result(driver, operation) == 33


@pytest.mark.parametrize(
    "asked, change",
    [
        ("torch.is_grad_enabled()", lambda: torch.set_grad_enabled(False)),
        ("np.geterr()['over'] == 'warn'", lambda: np.seterr(over="ignore")),
        ("np.get_printoptions()['precision'] == 8", lambda: np.set_printoptions(precision=3)),
        ("len(Thing.__subclasses__()) == 0", lambda: CLASSES.append(type("_", (CLASSES[0],), {}))),
    ],
)
def test_a_state_of_a_library_that_changes(
    program: Path, asked: str, change: Callable[[], object]
) -> None:
    program.write_text(
        FRAME.replace(
            "HEAD",
            f"import numpy as np\nimport torch\n{PROPERTY}2.0 if {asked} else 5.0\n{OBJECT}thing.f",
        )
    )
    module = load_file(program)
    CLASSES[:] = [module.Thing]
    with torch.enable_grad(), np.errstate(over="warn"), np.printoptions(precision=8):
        driver = Driver()
        assert result(driver, module.operation) == 6
        change()
        assert result(driver, module.operation) == 15
        assert result(Driver(), module.operation) == 15


@pytest.mark.parametrize("name", ["sqrt", "pi"])
def test_what_was_put_into_a_module_of_python(
    program: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    asked = {"sqrt": "math.sqrt(4.0)", "pi": "math.pi"}[name]
    head = f"def helped():\n    import math\n    return {asked}"
    program.write_text(FRAME.replace("HEAD", head) + "\ndef other(x):\n    return 5.0\n")
    module, driver = load_file(program), Driver()
    assert result(driver, module.operation) != 15
    monkeypatch.setattr(math, name, module.other if name == "sqrt" else 5.0)
    assert result(driver, module.operation) == 15


def test_what_properties_compute_from_their_objects_is_kept(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = (
        "import math\nimport numpy as np\nfrom ttl import ttnn\n"
        "@dataclass\nclass Thing:\n    input: int = 3\n    kind: object = ttnn.float32\n"
        "    @property\n    def half(self):\n        return math.ceil(self.input / 2)\n"
        "    @property\n    def f(self):\n"
        "        is_float = self.kind == ttnn.float32\n"
        "        return float(np.prod([self.half, max(1, np.sqrt(4.0))])) if is_float else 0.0\n"
        f"{OBJECT}thing.f"
    )
    program.write_text(FRAME.replace("HEAD", head))
    driver, operation = Driver(), load_file(program).operation
    assert result(driver, operation) == 12
    assert result(driver, operation) == 12
    assert driver.artifacts.count == 1


def test_what_a_property_changes_it_changes_in_every_process(program: Path) -> None:
    head = (
        "class Thing:\n    n = 0\n    @property\n    def f(self):\n"
        f"        self.n += 1\n        return self.n\n{OBJECT}thing.f"
    )
    program.write_text(FRAME.replace("HEAD", head))
    found = []
    for _ in range(2):
        driver, operation = Driver(), load_file(program).operation
        found.append([result(driver, operation) for _ in range(3)])
    assert found[0] == found[1]
    assert len(set(found[0])) == 3
