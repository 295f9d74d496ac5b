"""emitc to C++ text.

The same C++ as MLIR's own translation but for names: values keep the names of the user's program
where they have one, and a comment gives the Python line that a statement comes from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, Operation, SSAValue

from ttl.diagnostics import Span
from ttl.dialects import emitc, ttkernel
from ttl.dialects.locations import span_of


@dataclass(frozen=True, slots=True)
class CppFile:
    text: str
    source_map: tuple[tuple[int, Span], ...]  # (line of the text, Python span), ascending


def print_file(file: emitc.FileOp) -> CppFile:
    printer = _Printer(names=_foreign_names(file))
    printer.block(file.body.block)
    return CppFile("\n".join(printer.lines) + "\n", tuple(printer.source_map))


def _foreign_names(file: emitc.FileOp) -> set[str]:
    """Names that mean something else in the file: functions it calls, text it declares."""
    names = set(ttkernel.RESERVED_NAMES)
    for op in file.walk():
        if isinstance(op, emitc.LiteralOp):
            names.add(op.value.data)
        elif isinstance(op, emitc.CallOpaqueOp):
            names.add(op.callee.data)
    return names


@dataclass(slots=True)
class _Printer:
    lines: list[str] = field(default_factory=list)
    source_map: list[tuple[int, Span]] = field(default_factory=list)
    texts: dict[SSAValue, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    depth: int = 0

    def block(self, block: Block) -> None:
        for op in block.ops:
            PRINTERS[type(op)](self, op)

    def line(self, text: str, op: Operation) -> None:
        span = span_of(op.location)
        comment = ""
        if span is not None:
            previous = self.source_map[-1][1] if self.source_map else None
            if span != previous:
                self.source_map.append((len(self.lines) + 1, span))
            if previous is None or previous.line != span.line:
                comment = f"  // line {span.line}"
        self.lines.append(f"{'  ' * self.depth}{text}{comment}".rstrip())

    def name(self, value: SSAValue) -> str:
        """A name nobody has yet, from the value's hint."""
        name = emitc.unique_identifier(value.name_hint or "v", self.names)
        self.names.add(name)
        self.texts[value] = name
        return name

    def formula(self, value: SSAValue) -> str:
        """Arithmetic as text; parts that do not bind more tightly stand in parentheses."""
        op = value.owner
        if not isinstance(op, emitc.BinaryOp):
            return self.texts[value]
        parts = []
        for operand in op.operands:
            part = self.formula(operand)
            inner = operand.owner
            if isinstance(inner, emitc.BinaryOp) and _binding(inner) <= _binding(op):
                part = f"({part})"
            parts.append(part)
        return f" {emitc.SIGNS[type(op)]} ".join(parts)

    def operands(self, op: Operation) -> list[str]:
        return [self.texts[value] for value in op.operands]


def _binding(op: emitc.BinaryOp) -> int:
    return 2 if isinstance(op, emitc.MulOp) else 1


def include(self: _Printer, op: emitc.IncludeOp) -> None:
    name = op.include.data
    self.lines.append(f"#include <{name}>" if op.is_standard_include else f'#include "{name}"')


def function(self: _Printer, op: emitc.FuncOp) -> None:
    self.lines += ["", f"void {op.sym_name.data}() {{"]
    self.depth += 1
    self.block(op.body.block)
    self.depth -= 1
    self.lines.append("}")


def verbatim(self: _Printer, op: emitc.VerbatimOp) -> None:
    self.line(op.value.data, op)


def literal(self: _Printer, op: emitc.LiteralOp) -> None:
    self.texts[op.result] = op.value.data


def expression(self: _Printer, op: emitc.ExpressionOp) -> None:
    body = op.body.block
    self.texts.update(zip(body.args, self.operands(op), strict=True))
    value = body.last_op.operands[0]  # type: ignore[union-attr]
    self.line(f"{cpp_type(op.result)} {self.name(op.result)} = {self.formula(value)};", op)


def call(self: _Printer, op: emitc.CallOpaqueOp) -> None:
    template = ""
    if op.template_args is not None:
        template = f"<{', '.join(a.value.data for a in op.template_args)}>"
    text = f"{op.callee.data}{template}({', '.join(self.operands(op))});"
    if op.results:
        result = op.results[0]
        text = f"{cpp_type(result)} {self.name(result)} = {text}"
    self.line(text, op)


def loop(self: _Printer, op: emitc.ForOp) -> None:
    lower, upper, step = self.operands(op)
    variable = op.body.block.args[0]
    outer_names = set(self.names)
    name = self.name(variable)
    self.line(
        f"for ({cpp_type(variable)} {name} = {lower}; {name} < {upper}; {name} += {step}) {{", op
    )
    self.depth += 1
    self.block(op.body.block)
    self.depth -= 1
    self.lines.append("  " * self.depth + "}")
    self.names = outer_names  # the loop's names end with it


def loop_end(self: _Printer, op: emitc.YieldOp) -> None:
    pass


def function_end(self: _Printer, op: emitc.ReturnOp) -> None:
    self.line("return;", op)


def cpp_type(value: SSAValue) -> str:
    assert isinstance(value.type, IntegerType)
    return f"int{value.type.width.data}_t"


PRINTERS: dict[type[Operation], Callable[..., None]] = {
    emitc.IncludeOp: include,
    emitc.FuncOp: function,
    emitc.VerbatimOp: verbatim,
    emitc.LiteralOp: literal,
    emitc.ExpressionOp: expression,
    emitc.CallOpaqueOp: call,
    emitc.ForOp: loop,
    emitc.YieldOp: loop_end,
    emitc.ReturnOp: function_end,
}
