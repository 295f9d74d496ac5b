"""The Python of a kernel as a small tree: every name bound, control flow in few forms.

`read.py` makes it, `python.py` makes Python of it again. Nodes are values that nobody changes; what
is changed is built anew (walking.py). A node is known by its identity: two equal
statements of a program are two nodes.

rule BOUND   a name has the variable it stands for: one of this function, of one around it that
             was read with it, or (`Around`) a name around all that was read
rule PLACES  every node has its place in the user's file, as `ast` counts: columns in bytes
rule TARGETS what gets a value is a `Target`, an `Attribute`, an `Item`, or a `Sequence` of these
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, dataclass_transform

from .bindings import Around as Around
from .bindings import Binding, Place, Scope, Variable

# Nodes --------------------------------------------------------------------------------------------

NodeClass = TypeVar("NodeClass")


@dataclass_transform(frozen_default=True, eq_default=False)
def node(made: type[NodeClass]) -> type[NodeClass]:
    return dataclass(frozen=True, slots=True, eq=False)(made)


@node
class Node:
    place: Place
    # The fields that have nodes in them, in the order in which they are evaluated.
    parts: ClassVar[tuple[str, ...]] = ()

    # As nodes of `ast` are asked for their places.
    @property
    def lineno(self) -> int:
        return self.place.line

    @property
    def col_offset(self) -> int:
        return self.place.column

    @property
    def end_lineno(self) -> int:
        return self.place.end_line

    @property
    def end_col_offset(self) -> int:
        return self.place.end_column


class Expression(Node):
    __slots__ = ()


class Statement(Node):
    __slots__ = ()


Body = tuple[Statement, ...]


@node
class Constant(Expression):
    value: Any


@node
class Name(Expression):
    binding: Binding


@node
class Target(Expression):
    """A name that gets a value, or loses it."""

    binding: Binding


@node
class Attribute(Expression):
    parts = ("owner",)
    owner: Expression
    name: str


@node
class Item(Expression):
    parts = ("owner", "index")
    owner: Expression
    index: Expression


@node
class Slice(Expression):
    parts = ("start", "stop", "step")
    start: Expression | None
    stop: Expression | None
    step: Expression | None


@node
class Sequence(Expression):
    """A tuple, a list or a set, by `kind`."""

    parts = ("items",)
    kind: str
    items: tuple[Expression, ...]


@node
class Table(Expression):
    """A dict; where a key is None, `**value`."""

    parts = ("keys", "values")
    keys: tuple[Expression | None, ...]
    values: tuple[Expression, ...]


@node
class Starred(Expression):
    parts = ("value",)
    value: Expression


@node
class Unary(Expression):
    parts = ("operand",)
    sign: str  # -, +, ~, not
    operand: Expression


@node
class Binary(Expression):
    parts = ("left", "right")
    sign: str
    left: Expression
    right: Expression


@node
class Compare(Expression):
    """`a < b <= c`"""

    parts = ("first", "others")
    signs: tuple[str, ...]
    first: Expression
    others: tuple[Expression, ...]


@node
class Logic(Expression):
    parts = ("operands",)
    sign: str  # and, or
    operands: tuple[Expression, ...]


@node
class Choice(Expression):
    """`then if test else otherwise`"""

    parts = ("test", "then", "otherwise")
    test: Expression
    then: Expression
    otherwise: Expression


@node
class Text(Expression):
    """An f-string."""

    parts = ("pieces",)
    pieces: tuple[Expression, ...]  # constants, and what is formatted


@node
class Formatted(Expression):
    parts = ("value", "spec")
    value: Expression
    conversion: int  # as in `ast`
    spec: Expression | None


@node
class Bind(Expression):
    """`target := value`"""

    parts = ("value", "target")
    target: Target
    value: Expression


@node
class Keyword(Node):
    """An argument that is given by name; `**value` without one."""

    parts = ("value",)
    name: str | None
    value: Expression


@node
class Call(Expression):
    parts = ("function", "arguments", "keywords")
    function: Expression
    arguments: tuple[Expression, ...]
    keywords: tuple[Keyword, ...]

    @property
    def given(self) -> tuple[Expression, ...]:
        """All arguments."""
        return (*self.arguments, *(each.value for each in self.keywords))

    @property
    def method(self) -> str:
        """Its name, if it is the call of one."""
        return self.function.name if isinstance(self.function, Attribute) else ""


@node
class LanguageCall(Call):
    """Of a function of the language, with its arguments by the names of its parameters."""

    which: Any  # the function
    named: dict[str, Expression]


@node
class Suspend(Expression):
    """`await`, `yield` or `yield from`, by `kind`."""

    parts = ("value",)
    kind: str
    value: Expression | None


@node
class Generator(Node):
    """`for target in over if test ...`"""

    parts = ("over", "target", "tests")
    target: Expression
    over: Expression
    tests: tuple[Expression, ...]
    is_async: bool = False


@node
class Comprehension(Expression):
    """A list, a set, a dict (with `key`) or a generator, by `kind`; its targets are its own."""

    parts = ("generators", "key", "value")
    kind: str
    generators: tuple[Generator, ...]
    key: Expression | None
    value: Expression
    scope: Scope


@node
class Parameter(Node):
    parts = ("default",)
    variable: Variable
    kind: int  # as in `inspect`
    default: Expression | None
    annotation: Expression | None = None


@node
class Function(Expression):
    """A definition or a lambda, whose body is what it returns."""

    parts = ("decorators", "parameters", "body")
    name: str
    decorators: tuple[Expression, ...]
    parameters: tuple[Parameter, ...]
    body: Body
    scope: Scope
    is_lambda: bool = False
    is_async: bool = False
    returns: Expression | None = None


# Statements ---------------------------------------------------------------------------------------


@node
class Assign(Statement):
    """Also `def`, whose value is the function."""

    parts = ("value", "targets")
    targets: tuple[Expression, ...]
    value: Expression


@node
class Update(Statement):
    """`target += value`"""

    parts = ("target", "value")
    target: Expression
    sign: str
    value: Expression


@node
class Delete(Statement):
    parts = ("targets",)
    targets: tuple[Expression, ...]


@node
class Evaluate(Statement):
    parts = ("value",)
    value: Expression


@node
class Branch(Statement):
    parts = ("test", "then", "otherwise")
    test: Expression
    then: Body
    otherwise: Body


@node
class Loop(Statement):
    """`for target in over`"""

    parts = ("over", "target", "body")
    target: Expression
    over: Expression
    body: Body


@node
class While(Statement):
    parts = ("test", "body")
    test: Expression
    body: Body


@node
class Entered(Node):
    """`value as target`"""

    parts = ("value", "target")
    value: Expression
    target: Expression | None


@node
class With(Statement):
    parts = ("items", "body")
    items: tuple[Entered, ...]
    body: Body


@node
class Return(Statement):
    parts = ("value",)
    value: Expression | None


@node
class Jump(Statement):
    kind: str  # break, continue


@node
class Assert(Statement):
    parts = ("test", "message")
    test: Expression
    message: Expression | None


@node
class Raise(Statement):
    parts = ("error", "cause")
    error: Expression | None
    cause: Expression | None


@node
class Handler(Node):
    parts = ("kind", "target", "body")
    kind: Expression | None
    target: Target | None
    body: Body


@node
class Try(Statement):
    parts = ("body", "handlers", "otherwise", "finally_")
    body: Body
    handlers: tuple[Handler, ...]
    otherwise: Body
    finally_: Body


@node
class Imported(Node):
    """`name` of the module, or (None) the module itself."""

    parts = ("target",)
    name: str | None
    target: Target
    has_alias: bool


@node
class Import(Statement):
    parts = ("names",)
    module: str
    level: int
    names: tuple[Imported, ...]


@node
class Declare(Statement):
    """`global` or `nonlocal`: which names are meant is known from their bindings."""

    keyword: str
    bindings: tuple[Binding, ...]


@node
class Foreign(Statement):
    """What no kernel can have: a class, say. Its own Python is kept, and the names in it.

    The statements of a class are read, too: a module has some.
    """

    parts = ("names", "targets", "body")
    keyword: str
    names: tuple[Name, ...]
    targets: tuple[Target, ...]
    python: Any
    body: Body = ()


@node
class Finish(Statement):
    """Waits for the transfers, or releases the blocks, that the variables `names` have.

    Not what one of the variables `kept` has as well; nor what is finished already.
    """

    names: tuple[Variable, ...]
    kept: tuple[Variable, ...]
    is_wait: bool
