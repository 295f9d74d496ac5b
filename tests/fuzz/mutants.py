"""One to three random changes of a program: most are mistakes that somebody makes.

Only what is inside operations changes, so that no tensor grows beyond the machine.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from random import Random

NUMBERS = (0, 1, -1, 2, 3, 7, 64, 1000)
METHODS = (
    ("wait", "reserve"),
    ("push", "pop"),
    ("if_src", "if_dst"),
    ("is_src", "is_dst"),
    ("wait_ge", "wait_eq"),
    ("set", "inc"),
    ("store", "push"),
    ("compute", "datamovement"),
    ("wait_all", "add"),
)
OTHER_METHOD = {one: two for pair in METHODS for one, two in (pair, pair[::-1])}
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Mod, ast.FloorDiv, ast.MatMult, ast.BitXor)
ODD = ("None", "'text'", "[]", "{}", "1.5", "True", "a", "y", "ttl", "lambda: 0", "2 ** 40")
WRAPPERS = ("if 0: pass", "for _ in range(2): pass", "while False: pass", "def inner(): pass")
Change = Callable[[ast.AST, Random], None]


def mutant(text: str, random: Random) -> str:
    tree = ast.parse(text)
    for _ in range(random.choice((1, 1, 2, 3))):
        operations = [node for node in ast.walk(tree) if _is_operation(node)]
        if not operations:
            break
        random.choice(CHANGES)(random.choice(operations), random)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _is_operation(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and any(
        "ttl.operation" in ast.unparse(each) for each in node.decorator_list
    )


def _bodies(tree: ast.AST) -> list[list[ast.stmt]]:
    lists = [getattr(node, name, None) for node in ast.walk(tree) for name in ("body", "orelse")]
    return [each for each in lists if isinstance(each, list) and each]


def _statement(tree: ast.AST, random: Random) -> tuple[list[ast.stmt], int]:
    body = random.choice(_bodies(tree))
    return body, random.randrange(len(body))


def _leave_out(tree: ast.AST, random: Random) -> None:
    body, place = _statement(tree, random)
    body[place] = ast.Pass()


def _double(tree: ast.AST, random: Random) -> None:
    body, place = _statement(tree, random)
    body.insert(place, ast.parse(ast.unparse(body[place])).body[0])


def _exchange(tree: ast.AST, random: Random) -> None:
    body, place = _statement(tree, random)
    other = random.randrange(len(body))
    body[place], body[other] = body[other], body[place]


def _move(tree: ast.AST, random: Random) -> None:
    body, place = _statement(tree, random)
    text = ast.unparse(body[place])
    body[place] = ast.Pass()
    target, new = _statement(tree, random)
    target.insert(new, ast.parse(text).body[0])


def _unwrap(tree: ast.AST, random: Random) -> None:
    """What is under a `with`, a loop or a condition stands without it."""
    found = [
        (body, place)
        for body in _bodies(tree)
        for place, each in enumerate(body)
        if isinstance(each, (ast.With, ast.For, ast.If, ast.While))
    ]
    if found:
        body, place = random.choice(found)
        body[place : place + 1] = body[place].body  # type: ignore[attr-defined]


def _wrap(tree: ast.AST, random: Random) -> None:
    body, place = _statement(tree, random)
    wrapper = ast.parse(random.choice(WRAPPERS)).body[0]
    wrapper.body = [body[place]]  # type: ignore[attr-defined]
    body[place] = wrapper


def _one(tree: ast.AST, kind: type, random: Random) -> ast.AST | None:
    found = [node for node in ast.walk(tree) if isinstance(node, kind)]
    return random.choice(found) if found else None


def _other_number(tree: ast.AST, random: Random) -> None:
    numbers = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float))
    ]
    if numbers:
        one = random.choice(numbers)
        one.value = random.choice((*NUMBERS, one.value + 1, one.value - 1))  # type: ignore[operator]


def _other_name(tree: ast.AST, random: Random) -> None:
    one, other = _one(tree, ast.Name, random), _one(tree, ast.Name, random)
    if isinstance(one, ast.Name) and isinstance(other, ast.Name):
        one.id = other.id


def _other_method(tree: ast.AST, random: Random) -> None:
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in OTHER_METHOD
    ]
    if found:
        one = random.choice(found)
        one.attr = OTHER_METHOD[one.attr]


def _other_operator(tree: ast.AST, random: Random) -> None:
    one = _one(tree, ast.BinOp, random)
    if isinstance(one, ast.BinOp):
        one.op = random.choice(OPERATORS)()


def _other_arguments(tree: ast.AST, random: Random) -> None:
    one = _one(tree, ast.Call, random)
    if not isinstance(one, ast.Call):
        return
    how = random.randrange(4)
    if how == 0 and one.args:
        del one.args[random.randrange(len(one.args))]
    elif how == 1 and one.keywords:
        del one.keywords[random.randrange(len(one.keywords))]
    elif how == 2 and len(one.args) > 1:
        one.args.reverse()
    else:
        one.args.append(_odd(random))


def _odd_argument(tree: ast.AST, random: Random) -> None:
    one = _one(tree, ast.Call, random)
    if isinstance(one, ast.Call) and one.args:
        one.args[random.randrange(len(one.args))] = _odd(random)


def _odd_index(tree: ast.AST, random: Random) -> None:
    one = _one(tree, ast.Subscript, random)
    if isinstance(one, ast.Subscript):
        one.slice = _odd(random)


def _odd(random: Random) -> ast.expr:
    return ast.parse(random.choice(ODD), mode="eval").body


CHANGES: tuple[Change, ...] = (
    _leave_out,
    _double,
    _exchange,
    _move,
    _unwrap,
    _wrap,
    _other_number,
    _other_name,
    _other_method,
    _other_operator,
    _other_arguments,
    _odd_argument,
    _odd_index,
)
