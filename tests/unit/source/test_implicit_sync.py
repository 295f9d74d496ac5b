"""Small kernels, as text: what is supplied at the end of which body, and what is refused."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from ttl.source.effects import Meaning, SourceFunction
from ttl.source.implicit_sync import sync_points

HARMLESS = ("print", "len")


def functions_of(text: str) -> dict[str, SourceFunction]:
    """The module's functions; `ttl.copy` copies and names in `_dfb` are buffers."""
    found: dict[str, SourceFunction] = {}

    def resolve(node: ast.expr) -> Meaning | SourceFunction:
        name = ast.unparse(node)
        if name == "ttl.copy":
            return Meaning.COPY
        if name.endswith("_dfb"):
            return Meaning.BUFFER
        if name.startswith("ttl.") or name in HARMLESS:
            return Meaning.HARMLESS
        return found.get(name, Meaning.OTHER if name == "event" else Meaning.UNKNOWN)

    for node in ast.parse(dedent(text)).body:
        assert isinstance(node, ast.FunctionDef)
        found[node.name] = SourceFunction(node, resolve)
    return found


def points(text: str) -> tuple[list[str], list[str]]:
    """Repairs as `kind name line -> body`, leaks as `name line`, of `kernel` and its helpers."""
    repairs, leaks = [], []
    for found in sync_points(functions_of(text)["kernel"]).values():
        for repair in found.repairs:
            body = repair.body
            place = body.name if isinstance(body, ast.FunctionDef) else f"loop {body.lineno}"
            what = f"{repair.kind.value} {repair.name}".strip()
            repairs.append(f"{what} {repair.site.lineno} -> {place}")
        for leak in found.leaks:
            leaks.append(f"{leak.name} {leak.site.lineno} {ast.unparse(leak.finish)}")
    return sorted(repairs), leaks


def kernel(*lines: str) -> str:
    return "def kernel():\n" + "\n".join(f"    {line}" for line in lines)


REPAIRED = {
    "function body": (kernel("a = a_dfb.wait()"), ["release a 2 -> kernel"]),
    "loop body": (
        kernel("for i in range(3):", "    a = a_dfb.reserve()"),
        ["release a 3 -> loop 2"],
    ),
    "while body": (
        kernel("while run:", "    a = a_dfb.reserve()"),
        ["release a 3 -> loop 2"],
    ),
    "innermost loop": (
        kernel("for i in range(3):", "    a = a_dfb.wait()", "    for j in range(3):",
               "        b = b_dfb.wait()"),
        ["release a 3 -> loop 2", "release b 5 -> loop 4"],
    ),
    "if in a loop": (
        kernel("for i in range(3):", "    if i:", "        a = a_dfb.wait()"),
        ["release a 4 -> loop 2"],
    ),
    "else of a loop": (
        kernel("for i in range(3):", "    pass", "else:", "    a = a_dfb.wait()"),
        ["release a 5 -> kernel"],
    ),
    "try and with": (
        kernel("with ttl.signpost('x'):", "    try:", "        a = a_dfb.wait()", "    finally:",
               "        b = b_dfb.wait()"),
        ["release a 4 -> kernel", "release b 6 -> kernel"],
    ),
    "bound again": (
        kernel("a = a_dfb.wait()", "a = b_dfb.wait()"),
        ["release a 2 -> kernel", "release a 3 -> kernel"],
    ),
    "walrus": (
        kernel("y_blk.store((a := a_dfb.wait()) + 1)", "if (b := b_dfb.wait()):", "    pass"),
        ["release a 2 -> kernel", "release b 3 -> kernel"],
    ),
    "tuple": (
        kernel("a, (b, n) = a_dfb.wait(), (b_dfb.wait(), 3)"),
        ["release a 2 -> kernel", "release b 2 -> kernel"],
    ),
    "annotated": (kernel("a: Block = a_dfb.wait()"), ["release a 2 -> kernel"]),
    "several targets": (kernel("a = b = a_dfb.wait()"), ["release a 2 -> kernel"]),
    "either of two": (
        kernel("a = a_dfb.wait() if c else b_dfb.wait()"),
        ["release a 2 -> kernel", "release a 2 -> kernel"],
    ),
    "semicolons": (
        kernel("a = a_dfb.wait(); t = ttl.copy(a, y[0]); ttl.copy(a, z[0])"),
        ["release a 2 -> kernel", "wait at once 2 -> kernel", "wait t 2 -> kernel"],
    ),
    "alias": (kernel("a = a_dfb.wait()", "b = a"), ["release a 2 -> kernel"]),
    "unknown receiver": (kernel("a = buffers[0].wait()"), ["release a 2 -> kernel"]),
    "harmless uses": (
        kernel("a = a_dfb.wait()", "print(a, len(a))", "y.store(ttl.math.exp(a) + a)",
               "a.store(a @ a)", "a += 1", "ttl.copy(a, y[0]).wait()", "n = a.shape[0]"),
        ["release a 2 -> kernel"],
    ),
    "a callback's body": (
        kernel("def send(pipe):", "    a = a_dfb.wait()", "    ttl.copy(a, pipe)",
               "net.if_src(send)"),
        ["release a 3 -> send", "wait at once 4 -> send"],
    ),
    "nonlocal and nothing else": (
        kernel("t = None", "def send(pipe):", "    nonlocal t", "    t = ttl.copy(a, pipe)",
               "net.if_src(send)"),
        ["wait t 5 -> send"],
    ),
    "names of comprehensions are others": (
        kernel("b = a_dfb.wait()", "[b.pop() for b in held]"),
        ["release b 2 -> kernel"],
    ),
    "another scope's name": (
        kernel("a = a_dfb.wait()", "def f():", "    a = b_dfb.wait()", "    a.pop()", "f()"),
        ["release a 2 -> kernel"],
    ),
    "a transfer of a transfer's name": (
        kernel("t = ttl.copy(x, y)", "n = t.is_completed"),
        ["wait t 2 -> kernel"],
    ),
    "helper": (
        kernel("a = a_dfb.wait()", "use(a)")
        + "\ndef use(x):\n    b = b_dfb.wait()\n    y.store(x)",
        ["release a 2 -> kernel", "release b 5 -> use"],
    ),
    "helper that is only named": (
        kernel("net.if_src(send)") + "\ndef send(pipe):\n    ttl.copy(a, pipe)",
        ["wait at once 4 -> send"],
    ),
    "parameters are buffers": (
        kernel("load(a_dfb)") + "\ndef load(dfb):\n    a = dfb.reserve()",
        ["release a 4 -> load"],
    ),
    "helpers that call each other": (
        kernel("f()") + "\ndef f():\n    g()\ndef g():\n    a = a_dfb.wait()\n    f()",
        ["release a 6 -> g"],
    ),
}


@pytest.mark.parametrize("name", REPAIRED)
def test_repaired(name: str) -> None:
    text, expected = REPAIRED[name]
    assert points(text) == (sorted(expected), [])


LEFT_ALONE = {
    "pushed": kernel("a = a_dfb.reserve()", "a.push()"),
    "popped on both branches": kernel(
        "a = a_dfb.wait()", "if c:", "    a.pop()", "else:", "    a.pop()"
    ),
    "with": kernel("with a_dfb.wait() as a, b_dfb.reserve() as b:", "    pass"),
    "with a name": kernel("a = a_dfb.wait()", "with a:", "    pass"),
    "with a name as another": kernel("a = a_dfb.wait()", "with a as b:", "    pass"),
    "waited for": kernel("t = ttl.copy(x, y)", "t.wait()"),
    "waited for at once by hand": kernel("ttl.copy(x, y).wait()"),
    "bound to its result": kernel("n = ttl.copy(x, y).wait()"),
    "result of a wait": kernel("t = ttl.copy(x, y)", "n = t.wait()"),
    "group": kernel("t = ttl.copy(x, y)", "group.add(t)"),
    "group without a name": kernel("group.add(ttl.copy(x, y))"),
    "transfer passed on": kernel("t = ttl.copy(x, y)", "finish(t)") + "\ndef finish(t): pass",
    "transfer printed": kernel("t = ttl.copy(x, y)", "print(t)"),
    "returned transfer": kernel("t = ttl.copy(x, y)", "return t"),
    "returned copy": kernel("return ttl.copy(x, y)"),
    "returned block": kernel("a = a_dfb.wait()", "return a"),
    "yielded block": kernel("a = a_dfb.wait()", "yield a"),
    "alias popped": kernel("a = a_dfb.wait()", "b = a", "b.pop()"),
    "alias in a tuple popped": kernel("a = a_dfb.wait()", "b, c = a, 1", "b.pop()"),
    "alias by walrus popped": kernel("a = a_dfb.wait()", "f((b := a))", "b.pop()"),
    "alias may be popped": kernel("a = a_dfb.wait()", "(a if c else b).pop()"),
    "first of several targets popped": kernel("a = b = a_dfb.wait()", "a.pop()"),
    "double buffering": kernel(
        "for i in range(4):", "    old = a", "    a = a_dfb.wait()", "    if i:",
        "        old.pop()",
    ),
    "new or old": kernel("a = None", "a = a or a_dfb.wait()"),
    "appended": kernel("a = a_dfb.wait()", "held.append(a)"),
    "list": kernel("a = a_dfb.wait()", "held = [a]"),
    "element": kernel("a = a_dfb.wait()", "held[0] = a"),
    "bound to an element": kernel("held[0] = a_dfb.wait()"),
    "attribute": kernel("a = a_dfb.wait()", "self.held = a"),
    "unpacked from a list with a name": kernel("a, b = held = [a_dfb.wait(), b_dfb.wait()]"),
    "unpacked from a call": kernel("a, b = take()"),
    "comprehension": kernel("held = [a_dfb.wait() for _ in range(2)]"),
    "walrus in a comprehension": kernel("[(a := a_dfb.wait()) for _ in range(2)]"),
    "lambda": kernel("f = lambda: (a := a_dfb.wait())"),
    "captured and returned by a lambda": kernel("a = a_dfb.wait()", "f = lambda: a"),
    "test of a while": kernel("while (a := a_dfb.wait()).shape:", "    pass"),
    "iterated over": kernel("a = a_dfb.wait()", "for b in (a,):", "    b.pop()"),
    "unknown function": kernel("a = a_dfb.wait()", "unknown(a)"),
    "given with a star": kernel("a = a_dfb.wait()", "use(*[a])") + "\ndef use(*x): pass",
    "method taken": kernel("a = a_dfb.wait()", "later(a.pop)"),
    "popped by a nested function": kernel(
        "a = a_dfb.wait()", "def f():", "    a.pop()", "net.if_src(f)"
    ),
    "popped by a nested function's parameter": kernel(
        "def f(x):", "    x.pop()", "a = a_dfb.wait()", "f(a)"
    ),
    "nonlocal, waited for outside": kernel(
        "t = None", "def f(p):", "    nonlocal t", "    t = ttl.copy(a, p)", "net.if_dst(f)",
        "t.wait()",
    ),
    "popped by a helper": kernel("a = a_dfb.wait()", "use(a)") + "\ndef use(x): x.pop()",
    "popped by a helper's helper": kernel("a = a_dfb.wait()", "use(b=a)")
    + "\ndef use(a=1, b=2): other(b)\ndef other(x): x.pop()",
    "kept by a helper": kernel("a = a_dfb.wait()", "use(a)") + "\ndef use(x): held.append(x)",
    "not a buffer": kernel("a = event.wait()"),
    "bare acquire": kernel("a_dfb.wait()"),
    "other copies": kernel("t = shutil.copy(x, y)", "x.copy(y)"),
    "local copy": kernel("ttl = other", "ttl.copy(x, y)"),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_left_alone(name: str) -> None:
    assert points(LEFT_ALONE[name]) == ([], [])


SOME_PATHS = {
    "one branch": (kernel("a = a_dfb.wait()", "if c:", "    a.pop()"), "a 2 a.pop"),
    "one branch, transfer": (kernel("t = ttl.copy(x, y)", "if c:", "    t.wait()"), "t 2 t.wait"),
    "continue": (
        kernel("for i in range(3):", "    a = a_dfb.wait()", "    if i:", "        continue",
               "    a.pop()"),
        "a 3 a.pop",
    ),
    "break": (
        kernel("for i in range(3):", "    a = a_dfb.wait()", "    if i:", "        break",
               "    a.pop()"),
        "a 3 a.pop",
    ),
    "return": (
        kernel("a = a_dfb.wait()", "if c:", "    return", "a.pop()"),
        "a 2 a.pop",
    ),
    "one of two acquires": (
        kernel("a = a_dfb.wait()", "a = b_dfb.wait()", "a.pop()"),
        "a 2 a.pop",
    ),
    "one of two loops": (
        kernel("for i in range(2):", "    a = a_dfb.wait()", "for i in range(2):",
               "    a = a_dfb.wait()", "    a.pop()"),
        "a 3 a.pop",
    ),
    "after the loop": (
        kernel("for i in range(3):", "    a = a_dfb.wait()", "a.pop()"),
        "a 3 a.pop",
    ),
    "in a loop that may not run": (
        kernel("a = a_dfb.wait()", "for i in range(n):", "    a.pop()"),
        "a 2 a.pop",
    ),
    "overwritten": (kernel("a = a_dfb.wait()", "a = None", "if a:", "    a.pop()"), "a 2 a.pop"),
    "conditional expression": (
        kernel("a = a_dfb.wait()", "a.pop() if c else None"),
        "a 2 a.pop",
    ),
    "and": (kernel("a = a_dfb.wait()", "c and a.pop()"), "a 2 a.pop"),
    "handler": (
        kernel("a = a_dfb.wait()", "try:", "    f()", "    a.pop()", "except ValueError:",
               "    pass"),
        "a 2 a.pop",
    ),
    "one case": (
        kernel("a = a_dfb.wait()", "match c:", "    case 1:", "        a.pop()"),
        "a 2 a.pop",
    ),
    "test changed in between": (
        kernel("if c:", "    a = a_dfb.wait()", "c += 1", "if c:", "    a.pop()"),
        "a 3 a.pop",
    ),
    "other test": (
        kernel("if c:", "    a = a_dfb.wait()", "if d:", "    a.pop()"),
        "a 3 a.pop",
    ),
    "the loop's first and last": (
        kernel("for k in range(n):", "    if k == 0:", "        a = a_dfb.reserve()",
               "    if k == n - 1:", "        a.push()"),
        "a 4 a.push",
    ),
    "helper on one branch": (
        kernel("a = a_dfb.wait()", "if c:", "    use(a)") + "\ndef use(x): x.pop()",
        "a 2 use(a)",
    ),
    "in a helper": (
        kernel("use()") + "\ndef use():\n    a = a_dfb.wait()\n    if c:\n        a.pop()",
        "a 4 a.pop",
    ),
    "in a callback": (
        kernel("def f(p):", "    t = ttl.copy(a, p)", "    if c:", "        t.wait()",
               "net.if_src(f)"),
        "t 3 t.wait",
    ),
}


@pytest.mark.parametrize("name", SOME_PATHS)
def test_released_on_some_paths(name: str) -> None:
    text, leak = SOME_PATHS[name]
    assert points(text) == ([], [leak])


ALL_PATHS = {
    "acquire and release in one branch": kernel("if c:", "    a = a_dfb.wait()", "    a.pop()"),
    "the same test twice": kernel(
        "if c > 1:", "    a = a_dfb.wait()", "f()", "if not c > 1:", "    pass", "else:",
        "    a.pop()",
    ),
    "a role of the node twice": kernel(
        "if net.is_src():", "    a = a_dfb.wait()", "if net.is_src():", "    a.pop()"
    ),
    "before each exit": kernel(
        "for i in range(3):", "    a = a_dfb.wait()", "    if i:", "        a.pop()",
        "        continue", "    if j:", "        a.pop()", "        break", "    a.pop()",
    ),
    "finally": kernel(
        "a = a_dfb.wait()", "try:", "    if c:", "        return", "finally:", "    a.pop()"
    ),
    "endless loop": kernel(
        "a = a_dfb.wait()", "while True:", "    if c:", "        a.pop()", "        break"
    ),
    "raise": kernel("a = a_dfb.wait()", "if c:", "    raise ValueError", "a.pop()"),
    "every case": kernel(
        "a = a_dfb.wait()", "match c:", "    case 1:", "        a.pop()", "    case _:",
        "        a.pop()",
    ),
    "+= keeps the block": kernel("a = a_dfb.reserve()", "a += x", "a.push()"),
    "acquired again each time": kernel(
        "a = a_dfb.wait()", "for i in range(3):", "    a.pop()", "    a = a_dfb.wait()", "a.pop()"
    ),
}


@pytest.mark.parametrize("name", ALL_PATHS)
def test_released_on_all_paths(name: str) -> None:
    assert points(ALL_PATHS[name]) == ([], [])


def test_many_tests_are_followed_to_an_end() -> None:
    """More combinations of tests than are remembered: the answer is then the careful one."""
    lines = ["for i in range(3):", "    a = a_dfb.wait()"]
    for number in range(10):
        lines += [f"    if c{number}:", f"        x{number} = 1"]
    assert points(kernel(*lines, "    a.pop()")) == ([], [])
