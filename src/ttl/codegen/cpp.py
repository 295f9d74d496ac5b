"""Print emitc as C++ text.

The C++ equals that of MLIR's own translation except for names: values keep their names in the
user's program, and a comment gives a statement's Python line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import Float64Type, IntegerType
from xdsl.ir import Block, Operation, SSAValue

from ttl.artifact import Mark
from ttl.diagnostics import Span
from ttl.dialects import emitc, ttkernel
from ttl.dialects.building import walk
from ttl.dialects.locations import span_of


@dataclass(frozen=True, slots=True)
class CppFile:
    text: str
    source_map: tuple[tuple[int, Span], ...]  # (line of the text, Python span), ascending
    marks: tuple[Mark, ...]


def print_file(file: emitc.FileOp) -> CppFile:
    printer = _Printer(names=_foreign_names(file))
    printer.block(file.body.block)
    return CppFile("\n".join(printer.lines) + "\n", tuple(printer.source_map), tuple(printer.marks))


def _foreign_names(file: emitc.FileOp) -> set[str]:
    """Return names with another meaning in the file: functions it calls, text it declares."""
    names = set(ttkernel.RESERVED_NAMES)
    for op in walk(file):
        if isinstance(op, emitc.LiteralOp):
            names.add(op.value.data)
        elif isinstance(op, emitc.CallOpaqueOp):
            names.add(op.callee.data)
    return names


@dataclass(slots=True)
class _Printer:
    lines: list[str] = field(default_factory=list)
    source_map: list[tuple[int, Span]] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    texts: dict[SSAValue, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    spans: dict[int, Span | None] = field(default_factory=dict)  # of locations, by identity
    file: str = ""  # the kernel's own
    scopes: list[set[str]] = field(default_factory=list)
    depth: int = 0

    def open(self) -> None:
        self.scopes.append(set(self.names))
        self.depth += 1

    def close(self, text: str = "}") -> None:
        """End a scope and its names."""
        self.names = self.scopes.pop()
        self.depth -= 1
        self.lines.append("  " * self.depth + text)

    def block(self, block: Block) -> None:
        for op in block.ops:
            PRINTERS[type(op)](self, op)

    def line(self, text: str, op: Operation) -> None:
        key = id(op.location)  # many operations share it
        if key not in self.spans:
            self.spans[key] = span_of(op.location)
        span = self.spans[key]
        comment = ""
        if span is not None:
            previous = self.source_map[-1][1] if self.source_map else None
            if span != previous:
                self.source_map.append((len(self.lines) + 1, span))
            self.file = self.file or span.file
            if previous is None or (previous.line, previous.file) != (span.line, span.file):
                comment = f"  // {_place(span, self.file)}"
        self.lines.append(f"{'  ' * self.depth}{text}{comment}".rstrip())

    def name(self, value: SSAValue) -> str:
        """Give the value a new name, from its hint."""
        name = emitc.unique_identifier(value.name_hint or "v", self.names)
        self.names.add(name)
        self.texts[value] = name
        return name

    def formula(self, value: SSAValue) -> str:
        """Write arithmetic as text; parts that do not bind more tightly are in parentheses."""
        op = value.owner
        if isinstance(op, emitc.CallOpaqueOp) and value not in self.texts:
            return f"{op.callee.data}({', '.join(self.formula(v) for v in op.operands)})"
        if isinstance(op, emitc.CastOp):
            return f"static_cast<{cpp_type(value)}>({self.formula(op.source)})"
        if not isinstance(op, _FORMULAS):
            return self.texts[value]
        parts = [self.part(operand, op) for operand in op.operands]
        if isinstance(op, emitc.UnaryOp):
            return f"{emitc.UNARY_SIGNS[op.name.removeprefix('emitc.')]}{parts[0]}"
        if isinstance(op, emitc.ConditionalOp):
            return f"{parts[0]} ? {parts[1]} : {parts[2]}"
        return f" {_sign(op)} ".join(parts)

    def part(self, value: SSAValue, outer: Operation) -> str:
        text = self.formula(value)
        inner = value.owner
        if not isinstance(inner, _FORMULAS) or _binds_clearly(inner, outer):
            return text
        return f"({text})"

    def operands(self, op: Operation) -> list[str]:
        return [self.texts[value] for value in op.operands]


def _place(span: Span, file: str) -> str:
    if span.file == file:
        return f"line {span.line}"
    name = re.split(r"[/\\\\]", span.file)[-1]
    return f"{''.join(c if c.isascii() and c.isprintable() else '_' for c in name)}:{span.line}"


_FORMULAS = (emitc.BinaryOp, emitc.CmpOp, emitc.UnaryOp, emitc.ConditionalOp)


def _sign(op: Operation) -> str:
    return op.sign if isinstance(op, emitc.CmpOp) else emitc.SIGNS[op.name][0]


def _binding(op: Operation) -> int:
    if isinstance(op, emitc.UnaryOp):
        return emitc.UNARY_BINDING
    if isinstance(op, emitc.ConditionalOp):
        return 0
    if isinstance(op, emitc.CmpOp):
        return emitc.COMPARISON_BINDING[op.sign]
    return emitc.SIGNS[op.name][1]


def _binds_clearly(inner: Operation, outer: Operation) -> bool:
    """Is it clear without parentheses, to C++, to people and to compilers that warn?"""
    is_plain = _sign_of(inner) in ("+", "-", "*", "/", "%")
    is_test = isinstance(inner, emitc.CmpOp) and _sign_of(outer) in ("&&", "||", "?")
    return ((is_plain and _sign_of(outer) not in _UNCLEAR) or is_test) and (
        _binding(inner) > _binding(outer)
    )


_UNCLEAR = ("<<", ">>", "&", "|", "^")


def _sign_of(op: Operation) -> str:
    if isinstance(op, (emitc.BinaryOp, emitc.CmpOp)):
        return _sign(op)
    return "?" if isinstance(op, emitc.ConditionalOp) else "unary"


def include(printer: _Printer, op: emitc.IncludeOp) -> None:
    name = op.include.data
    printer.lines.append(f"#include <{name}>" if op.is_standard_include else f'#include "{name}"')


def function(printer: _Printer, op: emitc.FuncOp) -> None:
    printer.lines += ["", f"void {op.sym_name.data}() {{"]
    printer.depth += 1
    printer.block(op.body.block)
    printer.depth -= 1
    printer.lines.append("}")


def verbatim(printer: _Printer, op: emitc.VerbatimOp) -> None:
    """Print text unmodified; braces in it open and close a scope."""
    text = op.value.data
    if text == "}":
        printer.close()
        return
    printer.line(text, op)
    if text == "{":
        printer.open()


def expression(printer: _Printer, op: emitc.ExpressionOp) -> None:
    body = op.body.block
    printer.texts.update(zip(body.args, printer.operands(op), strict=True))
    value = body.last_op.operands[0]  # type: ignore[union-attr]
    if op.do_not_inline is None:
        printer.texts[op.result] = printer.formula(value)
        return
    printer.line(f"{cpp_type(op.result)} {printer.name(op.result)} = {printer.formula(value)};", op)


def call(printer: _Printer, op: emitc.CallOpaqueOp) -> None:
    template = ""
    if op.template_args is not None:
        template = f"<{', '.join(a.value.data for a in op.template_args)}>"
    text = f"{op.callee.data}{template}({', '.join(printer.operands(op))});"
    if op.results:
        result = op.results[0]
        text = f"{cpp_type(result)} {printer.name(result)} = {text}"
    printer.line(text, op)


def variable(printer: _Printer, op: emitc.VariableOp) -> None:
    """Declare a variable, in one line with its first value if that follows directly."""
    name = printer.name(op.result)
    following = op.next_op
    if not isinstance(following, emitc.AssignOp) or following.var is not op.result:
        printer.line(f"{cpp_type(op.result)} {name};", op)


def assign(printer: _Printer, op: emitc.AssignOp) -> None:
    previous = op.prev_op
    is_first = isinstance(previous, emitc.VariableOp) and previous.result is op.var
    type = f"{cpp_type(op.var)} " if is_first else ""
    printer.line(f"{type}{printer.texts[op.var]} = {printer.texts[op.value]};", op)


def subscript(printer: _Printer, op: emitc.SubscriptOp) -> None:
    array, index = printer.operands(op)
    printer.texts[op.result] = f"{array}[{index}]"


def loop(printer: _Printer, op: emitc.ForOp) -> None:
    lower, upper, step = printer.operands(op)
    variable = op.body.block.args[0]
    outer_names = set(printer.names)
    name = printer.name(variable)
    printer.line(
        f"for ({cpp_type(variable)} {name} = {lower}; {name} < {upper}; {name} += {step}) {{", op
    )
    printer.scopes.append(outer_names)
    printer.depth += 1
    printer.block(op.body.block)
    printer.close()


def branch(printer: _Printer, op: emitc.IfOp) -> None:
    printer.line(f"if ({printer.texts[op.condition]}) {{", op)
    printer.open()
    printer.block(op.then_region.block)
    if op.else_region.blocks:
        printer.close("} else {")
        printer.open()
        printer.block(op.else_region.block)
    printer.close()


def while_loop(printer: _Printer, op: emitc.WhileOp) -> None:
    """Print a loop; its test is in the head if it is one expression."""
    test = op.test.block
    assert test.last_op is not None
    value = test.last_op.operands[0]
    is_simple = all(_is_inline(each) for each in test.ops)
    if is_simple:
        printer.block(test)
        printer.line(f"while ({printer.texts[value]}) {{", op)
        printer.open()
    else:
        printer.line("while (true) {", op)
        printer.open()
        printer.block(test)
        printer.lines.append("  " * printer.depth + f"if (!({printer.texts[value]})) {{ break; }}")
    printer.block(op.body.block)
    printer.close()


def _is_inline(op: Operation) -> bool:
    if isinstance(op, emitc.ExpressionOp):
        return op.do_not_inline is None
    return isinstance(op, (emitc.LiteralOp, emitc.LoadOp, emitc.YieldOp))


def mark(printer: _Printer, op: ttkernel.MarkOp) -> None:
    """Record a mark for the next line; the text does not change."""
    place, value = str(op.place.value.data), str(op.size.value.data)
    if op.values and op.kind.data in SEMAPHORE_KINDS:
        value = printer.texts[op.values[0]]
    elif op.values:
        place = printer.texts[op.values[0]]
    span = span_of(op.location)
    line = 0 if span is None else span.line
    next_line = len(printer.lines) + 1
    printer.marks.append(Mark(next_line, op.kind.data, op.subject.data, place, value, line))


SEMAPHORE_KINDS = ("semaphore_set", "semaphore_inc", "semaphore_wait")


def cpp_type(value: SSAValue) -> str:
    type = value.type.value if isinstance(value.type, emitc.LValueType) else value.type
    if isinstance(type, emitc.OpaqueType):
        return type.value.data
    if isinstance(type, Float64Type):
        return "double"
    assert isinstance(type, IntegerType)
    width = type.width.data
    return "bool" if width == 1 else f"int{width}_t"


PRINTERS: dict[type[Operation], Callable[..., None]] = {
    emitc.IncludeOp: include,
    emitc.FuncOp: function,
    emitc.VerbatimOp: verbatim,
    emitc.LiteralOp: lambda printer, op: printer.texts.update({op.result: op.value.data}),
    emitc.ExpressionOp: expression,
    emitc.CallOpaqueOp: call,
    emitc.VariableOp: variable,
    emitc.AssignOp: assign,
    emitc.LoadOp: lambda printer, op: printer.texts.update({op.result: printer.texts[op.operand]}),
    emitc.SubscriptOp: subscript,
    emitc.IfOp: branch,
    emitc.ForOp: loop,
    emitc.WhileOp: while_loop,
    ttkernel.MarkOp: mark,
    emitc.YieldOp: lambda printer, op: None,
    emitc.ReturnOp: lambda printer, op: printer.line("return;", op),
}
