"""Small kernels, as text: what is supplied, and where."""

from __future__ import annotations

import ast
import linecache
from itertools import count
from textwrap import dedent
from types import FunctionType, SimpleNamespace
from typing import Any

import pytest

import ttl
from ttl.language.buffer import DataflowBuffer
from ttl.source import tree
from ttl.source.facts.releases import function_points
from ttl.source.python import as_ast
from ttl.source.trees import tree_of

NUMBERS = count()
KEEPER = SimpleNamespace(store=[].append)


def function_of(text: str) -> FunctionType:
    """The kernel: names in `_dfb` are buffers."""
    file, text = f"<small kernels {next(NUMBERS)}>", dedent(text)
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    buffers = {f"{name}_dfb": object.__new__(DataflowBuffer) for name in "abcty"}
    names: dict[str, Any] = {"ttl": ttl, "event": SimpleNamespace(), "keeper": KEEPER, **buffers}
    exec(compile(text, file, "exec"), names)
    found: FunctionType = names["kernel"]
    return found


def shown(node: tree.Finish) -> ast.stmt:
    names, kept = ([ast.Name(each.name) for each in part] for part in (node.names, node.kept))
    call = ast.Call(ast.Name("WAIT" if node.is_wait else "RELEASE"), [*names], [])
    call.keywords = [ast.keyword("kept", ast.Tuple([*kept]))] if kept else []
    return ast.Expr(call)


class _Readable(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        node.name = node.name.replace(".", "_")
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = node.id.replace(".", "_")
        return node


def supplied(text: str) -> str:
    """The kernel and its helpers, with what is supplied."""
    kernel = function_of(text)
    changed = {points.code: points.function for points in function_points(kernel)}
    functions = [each for each in kernel.__globals__.values() if isinstance(each, FunctionType)]
    own = [each for each in functions if each.__code__.co_filename == kernel.__code__.co_filename]
    found = (as_ast(changed.get(f.__code__) or tree_of(f), shown) for f in own)
    readable = (ast.fix_missing_locations(_Readable().visit(each)) for each in found)
    return "\n\n".join(map(ast.unparse, readable))


def kernel(*lines: str) -> str:
    return "def kernel():\n" + "\n".join(f"    {line}" for line in lines)


def check(text: str) -> None:
    """The text has what is expected in capitals: without these lines it gives itself."""
    lines = dedent(text).strip("\n").splitlines()
    given = [line for line in lines if not line.strip().startswith(("RELEASE(", "WAIT("))]
    given = [line.partition("  # only")[0] for line in given if "  # new" not in line]
    expected = [line.partition("  # ")[0] for line in lines]
    expected = [line.replace("  # new", "") for line in expected]
    assert supplied("\n".join(given)) == ast.unparse(ast.parse("\n".join(expected)))


LAST_USES = {
    "never used": """
        def kernel():
            a = a_dfb.wait()
            RELEASE(a)
            other()
    """,
    "a sum of lists has the blocks of both": """
        def kernel():
            q = [a_dfb.wait(), a_dfb.wait()]
            for i in range(6):
                n = a_dfb.wait()
                y.store(q[0] + n)
                q[0].pop()
                q = q[1:] + [n]
            for b in q:
                b.pop()
    """,
    "after the last use": """
        def kernel():
            t = t_dfb.reserve()
            t.store(x)
            RELEASE(t)
            b = t_dfb.wait()
            y.store(b)
            RELEASE(b)
            other()
    """,
    "in a loop": """
        def kernel():
            for i in range(3):
                a = a_dfb.wait()
                y.store(a)
                RELEASE(a)
                other()
    """,
    "outside of a loop": """
        def kernel():
            a = a_dfb.wait()
            for i in range(3):
                y.store(a)
                other()
            RELEASE(a)
            other()
    """,
    "outside of a loop, under another name in it": """
        def kernel():
            a = a_dfb.wait()
            while c:
                b = a
                y.store(b)
            RELEASE(a)
    """,
    "of the name that is used for its next value": """
        def kernel():
            e = None
            for i in range(3):
                v = a_dfb.wait()
                if e is None:
                    e = v
                else:
                    _e = e  # new
                    e = e + v
                    RELEASE(_e, v)
            RELEASE(e)
    """,
    "inner loop": """
        def kernel():
            for i in range(3):
                a = a_dfb.wait()
                for j in range(3):
                    b = b_dfb.wait()
                    y.store(a + b)
                    RELEASE(b)
                RELEASE(a)
    """,
    "a branch": """
        def kernel():
            a = a_dfb.wait()
            if c:
                y.store(a)
                other()
            else:
                other()
            RELEASE(a)
            other()
    """,
    "acquired in a branch": """
        def kernel():
            if c:
                a = a_dfb.wait()
                y.store(a)
                RELEASE(a)
                other()
    """,
    "acquired in both branches": """
        def kernel():
            if c:
                a = a_dfb.wait()
            else:
                a = b_dfb.wait()
            y.store(a)
            RELEASE(a)
            other()
    """,
    "a with": """
        def kernel():
            a = a_dfb.wait()
            with ttl.signpost('x'):
                y.store(a)
                other()
            RELEASE(a)
    """,
    "alias": """
        def kernel():
            a = a_dfb.wait()
            b = a
            y.store(a)
            y.store(b)
            RELEASE(b)
            other()
    """,
    "alias of two": """
        def kernel():
            a, b = a_dfb.wait(), b_dfb.wait()
            c = a if x else b
            y.store(c)
            RELEASE(a)
            RELEASE(b)
    """,
    "bound again": """
        def kernel():
            a = a_dfb.wait()
            y.store(a)
            RELEASE(a)
            a = b_dfb.wait()
            y.store(a)
            RELEASE(a)
    """,
    "exchanged": """
        def kernel():
            a, b = a_dfb.wait(), b_dfb.wait()
            a, b = b, a
            y.store(a)
            RELEASE(a)
            y.store(b)
            RELEASE(b)
    """,
    "a with of what a helper returns": """
        def kernel():
            c = c_dfb.wait()
            with take(a_dfb) as a:
                y.store(a + c)
                RELEASE(c)
                return
        def take(dfb):
            b = dfb.wait()
            return b
    """,
    "carried": """
        def kernel():
            held = a_dfb.wait()
            for i in range(3):
                following = a_dfb.wait()
                y.store(held + following)
                RELEASE(held)
                held = following
            y.store(held)
            RELEASE(held)
    """,
    "list": """
        def kernel():
            held = [a_dfb.wait() for i in range(2)]
            for i, b in enumerate(held):
                y.store(b)
            RELEASE(held)
            other()
    """,
    "appended": """
        def kernel():
            held = []
            for i in range(2):
                a = a_dfb.wait()
                held.append(a)
            y.store(held[0] + held[1])
            RELEASE(held)
    """,
    "element": """
        def kernel():
            held = [None]
            held[0] = a_dfb.wait()
            other()
            y.store(held[0])
            RELEASE(held)
    """,
    "helper": """
        def kernel():
            a = a_dfb.wait()
            use(a)
            RELEASE(a)
            other()
        def use(x):
            b = b_dfb.wait()
            y.store(x + b)
            RELEASE(b)
    """,
    "returned by a helper": """
        def kernel():
            a = take(a_dfb)
            y.store(a)
            RELEASE(a)
            other()
        def take(dfb):
            b = dfb.wait()
            return b
    """,
    "passed through a helper": """
        def kernel():
            a = a_dfb.wait()
            b = same(a)
            y.store(b)
            RELEASE(b)
        def same(x):
            return x
    """,
    "nested function": """
        def kernel():
            a = a_dfb.wait()
            def use():
                y.store(a)
            other()
            use()
            RELEASE(a)
            other()
    """,
    "nested function with another name": """
        def kernel():
            a = a_dfb.wait()
            def use():
                y.store(a)
            again = use
            again()
            again()
            RELEASE(a)
    """,
    "the younger is used last before the older": """
        def kernel():
            old, young = a_dfb.wait(), a_dfb.wait()
            y.store(young)
            y.store(old)
            RELEASE(old)
            RELEASE(young)
    """,
    "one of several buffers": """
        def kernel():
            a, b = a_dfb.wait(), b_dfb.wait()
            y.store(b)
            RELEASE(b)
            y.store(a)
            RELEASE(a)
    """,
}


@pytest.mark.parametrize("name", LAST_USES)
def test_blocks_are_released_after_their_last_use(name: str) -> None:
    check(LAST_USES[name])


WITHOUT_NAMES = {
    "compute": (
        kernel("y_dfb.reserve().store(a_dfb.wait() + b_dfb.wait())"),
        kernel(
            "(_held_0 := y_dfb.reserve()).store((_held_1 := a_dfb.wait()) +"
            " (_held_2 := b_dfb.wait()))",
            "RELEASE(_held_0)",
            "RELEASE(_held_1)",
            "RELEASE(_held_2)",
        ),
    ),
    "copy": (
        kernel("ttl.copy(a[0, 0], a_dfb.reserve())", "other()"),
        kernel(
            "ttl.copy(a[0, 0], (_held_0 := a_dfb.reserve())).wait()", "RELEASE(_held_0)", "other()"
        ),
    ),
    "copy with a name": (
        kernel("t = ttl.copy(a[0, 0], a_dfb.reserve())", "other()", "t.wait()", "other()"),
        kernel(
            "t = ttl.copy(a[0, 0], (_held_0 := a_dfb.reserve()))",
            "other()",
            "t.wait()",
            "RELEASE(_held_0)",
            "other()",
        ),
    ),
    "returned value": (
        kernel("use()") + "\ndef use():\n    a = a_dfb.wait()\n    return f(a.shape)",
        kernel("use()") + "\ndef use():\n    a = a_dfb.wait()\n    _returned = f(a.shape)\n"
        "    RELEASE(a)\n    return _returned",
    ),
    "bare acquire": (
        kernel("a_dfb.wait()"),
        kernel("(_held_0 := a_dfb.wait())", "RELEASE(_held_0)"),
    ),
}


@pytest.mark.parametrize("name", WITHOUT_NAMES)
def test_what_has_no_name_is_used_once(name: str) -> None:
    text, expected = WITHOUT_NAMES[name]
    assert supplied(text) == ast.unparse(ast.parse(expected))


WAITS = {
    "with its block": """
        def kernel():
            a = a_dfb.reserve()
            t = ttl.copy(x[0, 0], a)
            WAIT(t)
            RELEASE(a)
            other()
    """,
    "before the push": """
        def kernel():
            a = a_dfb.reserve()
            t = ttl.copy(x[0, 0], a)
            other()
            WAIT(t)
            a.push()
    """,
    "before another use of the block it fills": """
        def kernel():
            a = a_dfb.reserve()
            t = ttl.copy(x[0, 0], a)
            other()
            WAIT(t)
            s = ttl.copy(a, y[0, 0])
            s.wait()
            a.push()
    """,
    "not before another read": """
        def kernel():
            a = a_dfb.wait()
            t = ttl.copy(a, y[0, 0])
            s = ttl.copy(a, z[0, 0])
            other()
            WAIT(t)
            WAIT(s)
            a.pop()
    """,
    "before a read of what it wrote": """
        def kernel():
            a = a_dfb.wait()
            t = ttl.copy(a, y[0, 0])
            other()
            WAIT(t)
            s = ttl.copy(y[0, 0], b)
            a.pop()
            WAIT(s)
    """,
    "the use of the transfer is one of the block": """
        def kernel():
            a = a_dfb.reserve()
            t = ttl.copy(x[0, 0], a)
            other()
            print(t.is_done)
            WAIT(t)
            RELEASE(a)
            other()
    """,
    "in a with": """
        def kernel():
            with a_dfb.reserve() as a:
                t = ttl.copy(x[0, 0], a)
                other()
                WAIT(t)
    """,
    "a parameter's block": """
        def kernel():
            load(b)
        def load(a):
            t = ttl.copy(x[0, 0], a)
            other()
            WAIT(t)
    """,
    "one branch waits": """
        def kernel():
            a = a_dfb.reserve()
            t = ttl.copy(x[0, 0], a)
            if c:
                t.wait()
            else:  # new
                WAIT(t)
            other()
            a.push()
    """,
    "used after the branch that starts it": """
        def kernel():
            with a_dfb.reserve() as a:
                t = None
                if c:
                    t = ttl.copy(x[0, 0], a)
                print(t)
                other()
                WAIT(t)
    """,
    "started by a helper": """
        def kernel():
            t = load()
            WAIT(t)
            RELEASE(t)
            other()
        def load():
            a = a_dfb.reserve()
            return ttl.copy(x[0, 0], a)
    """,
    "a group": """
        def kernel():
            g = ttl.GroupTransfer()
            a = a_dfb.reserve()
            g.add(ttl.copy(x[0, 0], a))
            other()
            g.wait_all()
            RELEASE(a)
    """,
    "a group that is not waited for": """
        def kernel():
            g = ttl.GroupTransfer()
            a = a_dfb.reserve()
            g.add(ttl.copy(x[0, 0], a))
            WAIT(g)
            RELEASE(a)
            other()
    """,
    "a callback's": """
        def kernel():
            t = None
            a = a_dfb.reserve()
            def send(pipe):
                nonlocal t
                t = ttl.copy(a, pipe)
            net.if_src(send)
            WAIT(t)
            RELEASE(a)
            other()
    """,
    "a name for each iteration": """
        def kernel():
            a = a_dfb.wait()
            for i in range(3):
                t = ttl.copy(a, y[0, i])
                WAIT(t)
            RELEASE(a)
    """,
}


@pytest.mark.parametrize("name", WAITS)
def test_transfers_are_waited_for_before_what_needs_them(name: str) -> None:
    check(WAITS[name])


SOME_PATHS = {
    "one branch": """
        def kernel():
            a = a_dfb.wait()
            if c:
                a.pop()
            else:  # new
                RELEASE(a)
            other()
    """,
    "the other branch": """
        def kernel():
            a = a_dfb.wait()
            if c:
                other()
                RELEASE(a)
            else:
                a.pop()
    """,
    "continue": """
        def kernel():
            for i in range(3):
                a = a_dfb.wait()
                if i:
                    RELEASE(a)
                    continue
                a.pop()
    """,
    "break": """
        def kernel():
            for i in range(3):
                a = a_dfb.wait()
                if i:
                    RELEASE(a)
                    break
                a.pop()
    """,
    "return": """
        def kernel():
            a = a_dfb.wait()
            if c:
                RELEASE(a)
                return
            a.pop()
    """,
    "in a loop that may not run": """
        def kernel():
            a = a_dfb.wait()
            for i in range(n):
                a.pop()
            RELEASE(a)
    """,
    "one of two acquires": """
        def kernel():
            a = a_dfb.wait()
            RELEASE(a)
            a = b_dfb.wait()
            a.pop()
    """,
    "after the loop": """
        def kernel():
            for i in range(3):
                RELEASE(a)
                a = a_dfb.wait()
            a.pop()
    """,
    "conditional expression": """
        def kernel():
            a = a_dfb.wait()
            a.pop() if c else None
            RELEASE(a)
    """,
    "and": """
        def kernel():
            a = a_dfb.wait()
            c and a.pop()
            RELEASE(a)
    """,
    "one case": """
        def kernel():
            a = a_dfb.wait()
            s = c
            if s == 1:
                a.pop()
            else:  # new
                RELEASE(a)
    """,
    "handler": """
        def kernel():
            a = a_dfb.wait()
            try:
                f()
                a.pop()
            except ValueError:
                pass
            RELEASE(a)
    """,
    "the same test twice": """
        def kernel():
            if c:
                a = a_dfb.wait()
            other()
            if c:
                y.store(a)
                RELEASE(a)
            other()
    """,
    "test changed in between": """
        def kernel():
            if c:
                a = a_dfb.wait()
            c += 1
            if c:
                a.pop()
            else:  # new
                RELEASE(a)
    """,
    "helper on one branch": """
        def kernel():
            a = a_dfb.wait()
            if c:
                use(a)
            else:  # new
                RELEASE(a)
        def use(x):
            x.pop()
    """,
    "a test that was passed before": """
        def kernel():
            if c:
                other()
            a = a_dfb.wait()
            b = a_dfb.wait()
            y.store(a)
            y.store(b)
            if c:
                y.store(a)
            RELEASE(a)
            RELEASE(b)
            other()
    """,
    "a test in every iteration": """
        def kernel():
            for i in range(3):
                a = a_dfb.reserve()
                t = ttl.copy(x, a)
                t.wait()
                if c:
                    ttl.copy(a, x).wait()
                RELEASE(a)
    """,
    "a callback with parameters of the same name as another": """
        def kernel():
            t = None
            a = a_dfb.reserve()
            def receive(pipe):
                nonlocal t
                t = ttl.copy(pipe, a)
            net.if_dst(receive)
            def send(pipe):
                ttl.copy(b, pipe).wait()
            net.if_src(send)
            WAIT(t)
            a.push()
    """,
    "helper that does sometimes": """
        def kernel():
            a = a_dfb.wait()
            use(a)
            RELEASE(a)
            other()
        def use(x):
            if c:
                x.pop()
    """,
}


@pytest.mark.parametrize("name", SOME_PATHS)
def test_the_other_path_gets_it(name: str) -> None:
    check(SOME_PATHS[name])


COMPLETE = {
    "pushed": kernel("a = a_dfb.reserve()", "a.push()"),
    "popped on both branches": kernel(
        "a = a_dfb.wait()", "if c:", "    a.pop()", "else:", "    a.pop()"
    ),
    "with": kernel("with a_dfb.wait() as a, b_dfb.reserve() as b:", "    return"),
    "with a name": kernel("a = a_dfb.wait()", "with a:", "    pass"),
    "with a name as another": kernel("a = a_dfb.wait()", "with a as b:", "    return"),
    "waited for": kernel("t = ttl.copy(x, y)", "t.wait()"),
    "waited for at once by hand": kernel("ttl.copy(x, y).wait()"),
    "bound to its result": kernel("n = ttl.copy(x, y).wait()"),
    "result of a wait": kernel("t = ttl.copy(x, y)", "n = t.wait()"),
    "group": kernel("t = ttl.copy(x, y)", "group = G()", "group.add(t)", "group.wait_all()"),
    "transfer passed on": kernel("t = ttl.copy(x, y)", "finish(t)") + "\ndef finish(t): t.wait()",
    "returned transfer": kernel("t = ttl.copy(x, y)", "return t"),
    "returned copy": kernel("return ttl.copy(x, y)"),
    "returned block": kernel("a = a_dfb.wait()", "return a"),
    "yielded block": kernel("a = a_dfb.wait()", "yield a"),
    "alias popped": kernel("a = a_dfb.wait()", "b = a", "b.pop()"),
    "alias in a tuple popped": kernel("a = a_dfb.wait()", "b, c = a, 1", "b.pop()"),
    "alias by walrus popped": kernel("a = a_dfb.wait()", "f((b := 3))", "b = a", "b.pop()"),
    "first of several targets popped": kernel("a = b = a_dfb.wait()", "a.pop()"),
    "double buffering": kernel(
        "a = a_dfb.wait()",
        "for i in range(4):",
        "    old = a",
        "    a = a_dfb.wait()",
        "    old.pop()",
        "a.pop()",
    ),
    "popped in a list": kernel(
        "held = [a_dfb.wait(), b_dfb.wait()]", "for b in held:", "    b.pop()"
    ),
    "attribute": kernel("a = a_dfb.wait()", "self.held = a"),
    "lambda": kernel("f = lambda: (a := a_dfb.wait())"),
    "captured and returned by a lambda": kernel("a = a_dfb.wait()", "return lambda: a"),
    "kept by an object's method": kernel("a = a_dfb.wait()", "keeper.store(a)"),
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
        "t = None",
        "def f(p):",
        "    nonlocal t",
        "    t = ttl.copy(a, p)",
        "net.if_dst(f)",
        "t.wait()",
    ),
    "popped by a helper": kernel("a = a_dfb.wait()", "use(a)") + "\ndef use(x): x.pop()",
    "popped by a helper's helper": kernel("a = a_dfb.wait()", "use(b=a)")
    + "\ndef use(a=1, b=2): other(b)\ndef other(x): x.pop()",
    "popped by its buffer": kernel(
        "for i in range(3):",
        "    a = a_dfb.wait()",
        "    y.store(a)",
        "    other()",
        "    a_dfb.pop()",
    ),
    "popped by its buffer, without a name": kernel("a_dfb.wait()", "other()", "a_dfb.pop()"),
    "not a buffer": kernel("a = event.wait()"),
    "other copies": kernel("t = shutil.copy(x, y)", "x.copy(y)"),
    "local copy": kernel("ttl = other", "ttl.copy(x, y)"),
    "acquire and release in one branch": kernel("if c:", "    a = a_dfb.wait()", "    a.pop()"),
    "the same test twice": kernel(
        "if c > 1:",
        "    a = a_dfb.wait()",
        "f()",
        "if not c > 1:",
        "    pass",
        "else:",
        "    a.pop()",
    ),
    "a role of the node twice": kernel(
        "if net.is_src():", "    a = a_dfb.wait()", "if net.is_src():", "    a.pop()"
    ),
    "before each exit": kernel(
        "for i in range(3):",
        "    a = a_dfb.wait()",
        "    if i:",
        "        a.pop()",
        "        continue",
        "    if j:",
        "        a.pop()",
        "        break",
        "    a.pop()",
    ),
    "finally": kernel(
        "a = a_dfb.wait()", "try:", "    if c:", "        return", "finally:", "    a.pop()"
    ),
    "endless loop": kernel(
        "a = a_dfb.wait()", "while True:", "    if c:", "        a.pop()", "        break"
    ),
    "raise": kernel("a = a_dfb.wait()", "if c:", "    raise ValueError", "a.pop()"),
    "every case": kernel(
        "a = a_dfb.wait()",
        "match c:",
        "    case 1:",
        "        a.pop()",
        "    case _:",
        "        a.pop()",
    ),
    "+= keeps the block": kernel("a = a_dfb.reserve()", "a += x", "a.push()"),
    "acquired again each time": kernel(
        "a = a_dfb.wait()", "for i in range(3):", "    a.pop()", "    a = a_dfb.wait()", "a.pop()"
    ),
    "helpers that call each other": kernel("f()")
    + "\ndef f():\n    g()\ndef g():\n    a = a_dfb.wait()\n    f()\n    a.pop()",
}


def test_a_helper_returns_a_transfer_of_a_block_that_has_no_name() -> None:
    text = """
        def load():
            return ttl.copy(x, a_dfb.reserve())
        def kernel():
            load()
            other()
    """
    released = """
        def load():
            return ttl.copy(x, a_dfb.reserve())
        def kernel():
            (_held_0 := load())
            WAIT(_held_0)
            RELEASE(_held_0)
            other()
    """
    assert supplied(text) == ast.unparse(ast.parse(dedent(released)))


@pytest.mark.parametrize("name", COMPLETE)
def test_complete_programs_stay_as_they_are(name: str) -> None:
    assert function_points(function_of(COMPLETE[name])) == ()


def test_many_tests_are_followed_to_an_end() -> None:
    """More combinations of tests than are remembered: the answer is then the careful one."""
    lines = ["for i in range(3):", "    a = a_dfb.wait()"]
    for number in range(10):
        lines += [f"    if c{number}:", f"        x{number} = 1"]
    check(kernel(*lines, "    a.pop()"))
    check(kernel(*lines, "    y.store(a)", "    RELEASE(a)"))


CALLBACKS = {
    "a lambda's block": """
        def kernel():
            net.if_src(lambda pipe: pipe.store(a_dfb.wait()))
    """,
    "a lambda's transfer": """
        def kernel():
            net.if_src(lambda pipe: ttl.copy(x, pipe))
    """,
    "a block and a transfer of it": """
        def kernel():
            net.if_src(lambda pipe: ttl.copy(a_dfb.wait(), pipe))
    """,
    "one in a variable": """
        def kernel():
            send = lambda pipe: ttl.copy(a_dfb.wait(), pipe)
            net.if_src(send)
    """,
    "one that another calls": """
        def kernel():
            net.if_dst((lambda h: lambda pipe: h(pipe))(lambda p: ttl.copy(p, a_dfb.reserve())))
    """,
    "a variable of a lambda around it": """
        def kernel():
            net.if_dst((lambda dfb: lambda pipe: ttl.copy(pipe, dfb.reserve()))(a_dfb))
    """,
    "a variable of a comprehension": """
        def kernel():
            net.if_dst([lambda pipe: ttl.copy(pipe, d.reserve()) for d in (a_dfb,)][0])
    """,
    "a block that a comprehension goes over": """
        def kernel():
            net.if_dst(lambda pipe: [ttl.copy(pipe, b).wait() for b in [a_dfb.reserve()]])
    """,
}
WRITTEN = {
    "a lambda's block": """
        def kernel():
            net.if_src(lambda pipe: (
                (_returned := pipe.store((_held_0 := a_dfb.wait()))), RELEASE(_held_0), _returned
            )[-1])
    """,
    "a lambda's transfer": """
        def kernel():
            net.if_src(lambda pipe: ttl.copy(x, pipe).wait())
    """,
    "a block and a transfer of it": """
        def kernel():
            net.if_src(lambda pipe: (
                (_returned := ttl.copy((_held_0 := a_dfb.wait()), pipe).wait()),
                RELEASE(_held_0),
                _returned,
            )[-1])
    """,
    "one in a variable": """
        def kernel():
            send = lambda pipe: (
                (_returned := ttl.copy((_held_0 := a_dfb.wait()), pipe).wait()),
                RELEASE(_held_0),
                _returned,
            )[-1]
            net.if_src(send)
    """,
    "one that another calls": """
        def kernel():
            net.if_dst((lambda h: lambda pipe: (
                (_returned := (_held_0 := h(pipe))),
                WAIT(_held_0, _returned),
                RELEASE(_held_0, _returned),
                _returned,
            )[-1])(lambda p: ttl.copy(p, a_dfb.reserve())))
    """,
    "a variable of a lambda around it": """
        def kernel():
            net.if_dst((lambda dfb: lambda pipe: (
                (_returned := ttl.copy(pipe, (_held_0 := dfb.reserve())).wait()),
                RELEASE(_held_0),
                _returned,
            )[-1])(a_dfb))
    """,
    "a variable of a comprehension": """
        def kernel():
            net.if_dst([lambda pipe: (
                (_returned := ttl.copy(pipe, (_held_0 := d.reserve())).wait()),
                RELEASE(_held_0),
                _returned,
            )[-1] for d in (a_dfb,)][0])
    """,
    "a block that a comprehension goes over": """
        def kernel():
            net.if_dst(lambda pipe: (
                (_returned := (
                    (_over := [(_held_0 := a_dfb.reserve())]),
                    [ttl.copy(pipe, b).wait() for b in _over],
                )[-1]),
                RELEASE(_held_0),
                _returned,
            )[-1])
    """,
}


@pytest.mark.parametrize("name", CALLBACKS)
def test_a_lambda_leaves_out_what_a_function_may(name: str) -> None:
    """Nobody gets what a callback of a net returns: its transfers are waited for in it."""
    assert supplied(CALLBACKS[name]) == ast.unparse(ast.parse(dedent(WRITTEN[name])))


NAMES = {
    "a callback's own": """
        def kernel():
            t = None
            a = a_dfb.reserve()
            def receive(pipe):
                t = ttl.copy(pipe, a)
                WAIT(t)
            net.if_dst(receive)
            print(t)
            a.push()
    """,
    "a parameter": """
        def kernel():
            a = a_dfb.wait()
            def use(a):
                y.store(a)
            b = b_dfb.wait()
            use(b)
            RELEASE(b)
            a.pop()
    """,
    "a callback that a helper makes": """
        def kernel():
            for i in range(3):
                a = a_dfb.wait()
                f = made(a)
                other()
                net.if_src(f)
                RELEASE(a)
                other()
        def made(b):
            return lambda x: y.store(b)
    """,
    "a variable of a comprehension": """
        def kernel():
            a = a_dfb.wait()
            n = [a for a in range(3)]
            y.store(a)
            RELEASE(a)
            other()
    """,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_function_has_its_own_names(name: str) -> None:
    check(NAMES[name])


# Kernels that leave out nothing -------------------------------------------------------------------

PLAIN = (
    """
    with a_dfb.wait() as blk, y_dfb.reserve() as out:
        out.store(ttl.math.exp(blk) + 4)
    """,
    """
    column, row = ttl.node(dims=2)
    for i in range(4):
        with a_dfb.reserve() as blk:
            t = ttl.copy(y[row, i : i + 1], blk)
            u = ttl.copy(y[row, i], blk)
            t.wait()
            u.wait()
    """,
    """
    total = ttl.block.fill(0.0, shape=(1, 1))
    with a_dfb.wait() as blk:
        if n > 2:
            total += blk @ blk
        else:
            ttl.copy(blk, y[0, 0]).wait()
    """,
)


@pytest.mark.parametrize("number", range(len(PLAIN)))
def test_without_one_of_its_waits_a_kernel_leaves_out_something(number: int) -> None:
    lines = dedent(PLAIN[number]).strip().splitlines()
    assert function_points(function_of(kernel(*lines))) == ()
    for index, line in enumerate(lines):
        if line.endswith(".wait()"):
            rest = line.removesuffix(".wait()")
            changed = kernel(*lines[:index], rest, *lines[index + 1 :])
            # Of `t.wait()` only `t` is left, of `ttl.copy(...).wait()` the start of a transfer.
            assert [len(points.supplies) for points in function_points(function_of(changed))] == [1]


def test_what_a_kernel_reaches_is_read_also_where_it_makes_nothing_itself() -> None:
    helper = "\ndef helper(): a_dfb.wait()"
    for line in ("helper()", "net.if_src(helper)", "f = [helper]"):
        (points,) = function_points(function_of(kernel(line) + helper))
        assert points.code.co_name == "helper"
