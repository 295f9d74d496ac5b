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

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, dataclass_transform

from .bindings import Around as Around
from .bindings import Binding, Place, Scope, Variable

# Nodes --------------------------------------------------------------------------------------------

NodeClass = TypeVar("NodeClass", bound="Node")


@dataclass_transform(frozen_default=True, eq_default=False)
def node(*parts: str) -> Callable[[type[NodeClass]], type[NodeClass]]:
    """List in `parts` the fields that hold nodes, in the order in which Python evaluates them."""

    def made(kind: type[NodeClass]) -> type[NodeClass]:
        kind.parts = parts or kind.parts
        return dataclass(frozen=True, slots=True, eq=False)(kind)

    return made


@node()
class Node:
    place: Place
    parts: ClassVar[tuple[str, ...]] = ()

    # Places under the names that nodes of `ast` use.
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


@node()
class Constant(Expression):
    value: Any


@node()
class Name(Expression):
    binding: Binding


@node()
class Target(Expression):
    """A name that an assignment binds or `del` unbinds."""

    binding: Binding


@node("owner")
class Attribute(Expression):
    owner: Expression
    name: str


@node("owner", "index")
class Item(Expression):
    owner: Expression
    index: Expression


@node("start", "stop", "step")
class Slice(Expression):
    start: Expression | None
    stop: Expression | None
    step: Expression | None


@node("items")
class Sequence(Expression):
    """A tuple, a list or a set, as `kind` says."""

    kind: str
    items: tuple[Expression, ...]


@node("keys", "values")
class Table(Expression):
    """A dict; a key of None means `**value`."""

    keys: tuple[Expression | None, ...]
    values: tuple[Expression, ...]


@node("value")
class Starred(Expression):
    value: Expression


@node("operand")
class Unary(Expression):
    sign: str  # -, +, ~, not
    operand: Expression


@node("left", "right")
class Binary(Expression):
    sign: str
    left: Expression
    right: Expression


@node("first", "others")
class Compare(Expression):
    """`a < b <= c`"""

    signs: tuple[str, ...]
    first: Expression
    others: tuple[Expression, ...]


@node("operands")
class Logic(Expression):
    sign: str  # and, or
    operands: tuple[Expression, ...]


@node("test", "then", "otherwise")
class Choice(Expression):
    """`then if test else otherwise`"""

    test: Expression
    then: Expression
    otherwise: Expression


@node("pieces")
class Text(Expression):
    """An f-string."""

    pieces: tuple[Expression, ...]  # constants and formatted values


@node("value", "spec")
class Formatted(Expression):
    value: Expression
    conversion: int  # as in `ast`
    spec: Expression | None


@node("value", "target")
class Bind(Expression):
    """`target := value`"""

    target: Target
    value: Expression


@node("value")
class Keyword(Node):
    """An argument passed by name; without a name it is `**value`."""

    name: str | None
    value: Expression


@node("function", "arguments", "keywords")
class Call(Expression):
    function: Expression
    arguments: tuple[Expression, ...]
    keywords: tuple[Keyword, ...]

    @property
    def given(self) -> tuple[Expression, ...]:
        """All arguments, positional and named."""
        return (*self.arguments, *(each.value for each in self.keywords))

    @property
    def method(self) -> str:
        """The name of the called method, or "" if this calls no method."""
        return self.function.name if isinstance(self.function, Attribute) else ""


@node()
class LanguageCall(Call):
    """A call of a language function, with arguments keyed by parameter name."""

    which: Any  # the function
    named: dict[str, Expression]


@node("value")
class Suspend(Expression):
    """`await`, `yield` or `yield from`, as `kind` says."""

    kind: str
    value: Expression | None


@node("over", "target", "tests")
class Generator(Node):
    """`for target in over if test ...`"""

    target: Expression
    over: Expression
    tests: tuple[Expression, ...]
    is_async: bool = False


@node("generators", "key", "value")
class Comprehension(Expression):
    """A list, a set, a dict (with `key`) or a generator, as `kind` says; it owns its targets."""

    kind: str
    generators: tuple[Generator, ...]
    key: Expression | None
    value: Expression
    scope: Scope


@node("default")
class Parameter(Node):
    variable: Variable
    kind: int  # as in `inspect`
    default: Expression | None
    annotation: Expression | None = None


@node("decorators", "parameters", "body")
class Function(Expression):
    """A definition or a lambda, whose body is what it returns."""

    name: str
    decorators: tuple[Expression, ...]
    parameters: tuple[Parameter, ...]
    body: Body
    scope: Scope
    is_lambda: bool = False
    is_async: bool = False
    returns: Expression | None = None


# Statements ---------------------------------------------------------------------------------------


@node("value", "targets")
class Assign(Statement):
    """An assignment; `def` is one whose value is the function."""

    targets: tuple[Expression, ...]
    value: Expression


@node("target", "value")
class Update(Statement):
    """`target += value`"""

    target: Expression
    sign: str
    value: Expression


@node("targets")
class Delete(Statement):
    targets: tuple[Expression, ...]


@node("value")
class Evaluate(Statement):
    value: Expression


@node("test", "then", "otherwise")
class Branch(Statement):
    test: Expression
    then: Body
    otherwise: Body


@node("over", "target", "body")
class Loop(Statement):
    """`for target in over`"""

    target: Expression
    over: Expression
    body: Body


@node("test", "body")
class While(Statement):
    test: Expression
    body: Body


@node("value", "target")
class Entered(Node):
    """`value as target`"""

    value: Expression
    target: Expression | None


@node("items", "body")
class With(Statement):
    items: tuple[Entered, ...]
    body: Body


@node("value")
class Return(Statement):
    value: Expression | None


@node()
class Jump(Statement):
    kind: str  # break, continue


@node("test", "message")
class Assert(Statement):
    test: Expression
    message: Expression | None


@node("error", "cause")
class Raise(Statement):
    error: Expression | None
    cause: Expression | None


@node("kind", "target", "body")
class Handler(Node):
    kind: Expression | None
    target: Target | None
    body: Body


@node("body", "handlers", "otherwise", "finally_")
class Try(Statement):
    body: Body
    handlers: tuple[Handler, ...]
    otherwise: Body
    finally_: Body


@node("target")
class Imported(Node):
    """The import of `name` from the module, or of the module itself if None."""

    name: str | None
    target: Target
    has_alias: bool


@node("names")
class Import(Statement):
    module: str
    level: int
    names: tuple[Imported, ...]


@node()
class Declare(Statement):
    """`global` or `nonlocal`; the bindings show which variables it means."""

    keyword: str
    bindings: tuple[Binding, ...]


@node("names", "targets", "body")
class Foreign(Statement):
    """Python that no kernel can have, such as a class: keeps its `ast` and the names in it.

    The tree also has the statements of a class, because a module has some.
    """

    keyword: str
    names: tuple[Name, ...]
    targets: tuple[Target, ...]
    python: object
    body: Body = ()


@node()
class Finish(Statement):
    """Wait for the transfers, or release the blocks, that the variables `names` hold.

    Skips whatever a variable in `kept` holds too, and whatever is already finished.
    """

    names: tuple[Variable, ...]
    kept: tuple[Variable, ...]
    is_wait: bool
