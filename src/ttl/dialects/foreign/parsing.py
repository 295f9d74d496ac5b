"""Read kept operations, where no definition here reads a text.

rule OWN   Our definitions read first. An operation is kept only if they cannot read it, or if the
           result does not verify.
rule CALL  A generic call of the chip must have the chip's arguments, or it is refused; calls with
             attributes or types that only other tools have are kept.
rule NAME  Names in names.txt are kept, and any name if the context allows unregistered ones.
rule END   An operation's form ends before a line that starts another one, and before a closing
           brace that it did not open.

rule TYPES An operation in its own form writes its result types last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ContainerType,
    DenseArrayBase,
    FunctionType,
    IndexType,
    UnregisteredAttr,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue, TypeAttribute
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.mlir_lexer import MLIRTokenKind as Kind

from ..ttcore import TileType
from .kept import KeptOp, keep_attribute, kept_operation, kept_text, rebuild
from .names import is_attribute, is_operation
from .ttir import form_class

_ALIAS = re.compile(r"[#!][A-Za-z_]\w*(?![\w.<])")
_BLANKS = re.compile(r"(?://[^\n]*|\s)+")
_DICTIONARY = re.compile(r"\{\s*(?:\}|(?P<word>\"[^\"]*\"|[A-Za-z_][\w.$]*)\s*[=,}])")
_TYPE = re.compile(
    r"(?:tensor|memref|vector|tuple|complex)\s*<|(?:index|none|bf16|f\d+|[su]?i\d+)\b"
)
_GOES_ON = (",", ":", "->", "=", "(", "[", "<")
# A name bound to an argument of a region; forms of other tools here only use names.
_BINDING = re.compile(r"\s*=(?!=)")


# Operations whose result type is not written, because it follows from another.
_INDEX = ("tensor.dim", "memref.dim")
_OWN_TYPE = ("ttkernel.TensorAccessorArgs",)  # the type has the same name
_ELEMENT = ("tensor.extract", "memref.load", "affine.load")
_CONDITION = ("arith.cmpf",)  # of tiles; their definition reads those of numbers


def _element(type: Attribute) -> Attribute:
    found: Attribute = type.get_element_type() if isinstance(type, ContainerType) else type
    return found


def _is_tile(value: SSAValue) -> bool:
    return isinstance(value.type, TileType)


class NotKept(ParseError):
    """Raised if a kept operation has no readable form either; outer operations are not to blame."""


class KeepingParser(Parser):
    """xDSL's parser, extended to keep operations of other tools."""

    # Operations -----------------------------------------------------------------------------------

    def __init__(self, context: Context, text: str, file: str = "<unknown>"):
        super().__init__(context, text, file)
        # Where our definitions failed: an operation around the place may be read again.
        self._not_own: dict[int, ParseError | VerifyException] = {}

    _kept_here = -1  # position of a generic operation to keep, whatever class it has

    def _get_op_by_name(self, name: str) -> type[Operation]:
        if self._kept_here >= 0 and self._is_kept(name):
            self._kept_here = -1
            return form_class(name) or kept_operation(name)
        found = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if found is not None and not issubclass(found, _unregistered()):
            return found
        if self._is_kept(name):  # rule NAME
            return form_class(name) or kept_operation(name)
        self.raise_error(f"Operation {name} is not registered")

    def _is_kept(self, name: str) -> bool:
        return is_operation(name) or (self.ctx.allow_unregistered and "." in name)

    def _parse_generic_operation(self, op_type: type[Operation]) -> Operation:
        op = super()._parse_generic_operation(op_type)
        return keep_their_form(op) if op.dialect_name() in _IN_BOTH else op

    def parse_operation(self) -> Operation:
        start, known = self.pos, len(self.ssa_values)
        scope = (self.blocks, self.forward_block_references)
        depth = len(self._parser_state.dialect_stack)
        try:
            if start in self._not_own:  # its contents were read too
                raise self._not_own[start]
            op = super().parse_operation()
            if op.dialect_name() in _LOOKED_AT:
                op.verify(verify_nested_ops=False)
            return op
        except NotKept:
            raise
        except (ParseError, VerifyException) as error:  # rule OWN
            self._not_own[start] = error
            self._resume_from(start)
            for name in list(self.ssa_values)[known:]:
                del self.ssa_values[name]
            self.blocks, self.forward_block_references = scope
            del self._parser_state.dialect_stack[depth:]
            return self._parse_kept(error)

    def _parse_kept(self, error: ParseError | VerifyException) -> Operation:
        where = self._current_token.span
        results = self._parse_op_result_list()
        if self._current_token.kind == Kind.STRING_LIT:
            return self._parse_kept_generic(where.start, error)
        token = self._parse_optional_token(Kind.BARE_IDENT)
        if token is None or not self._is_kept(self._full_name(token.text)):
            raise self._final(error, where)
        count = sum(size for _, size in results)
        try:
            op = _Form(self, token.span.end).read(self._full_name(token.text), count)
        except NotKept:
            raise
        except ParseError:
            raise self._final(error, where) from None
        if op.dialect_name() == "arith" and not all(_is_tile(each) for each in op.operands):
            raise self._final(error, where)
        if (location := self.parse_optional_location()) is not None:
            op.location = location
        first = 0
        for span, size in results:
            self._register_ssa_definition(span.text[1:], op.results[first : first + size], span)
            first += size
        return op

    def _parse_kept_generic(self, start: int, error: ParseError | VerifyException) -> Operation:
        name = self._current_token.kind.get_string_literal_value(self._current_token.span)
        if not self._is_kept(name) or self._kept_here == start:
            raise self._final(error, self._current_token.span)
        where = self._current_token.span
        self._resume_from(start)
        self._kept_here = start
        try:
            op = super().parse_operation()
            if name.startswith("ttkernel.") and not _is_of_others(op):  # rule CALL
                raise self._final(error, where)
            return op
        except NotKept:
            raise
        except (ParseError, VerifyException):
            raise self._final(error, self._current_token.span) from None
        finally:
            self._kept_here = -1

    def _full_name(self, name: str) -> str:
        found = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        return found.name if found is not None and "." not in name else name

    @staticmethod
    def _final(error: ParseError | VerifyException, where: object) -> NotKept:
        if isinstance(error, ParseError):
            return NotKept(error.span, error.msg)
        return NotKept(where, str(error))

    # Attributes -----------------------------------------------------------------------------------

    def _parse_dialect_type_or_attribute_body(
        self,
        attr_name: str,
        is_type: bool,
        is_opaque: bool = True,
        starting_opaque_pos: int | None = None,
    ) -> Attribute:
        start = self.pos
        try:
            found: Attribute = super()._parse_dialect_type_or_attribute_body(
                attr_name, is_type, is_opaque, starting_opaque_pos
            )
            return found
        except (ParseError, VerifyException, ValueError):
            if not (is_attribute(attr_name) or self.ctx.allow_unregistered):
                raise
        self._resume_from(start)
        body = ""
        if starting_opaque_pos is not None:  # `#ttnn<mesh_shape 1x1>`
            end = self._raw_scan_balanced(starting_opaque_pos)
            body = self.lexer.input.content[starting_opaque_pos:end]
            self._resume_from(end)
        elif self._current_token.kind == Kind.LESS:
            body = self._parse_dialect_symbol_body()
        return keep_attribute(attr_name, is_type, is_opaque, self._expand(body))

    def _expand(self, text: str) -> str:
        """Return the text with aliases expanded: the module is printed without them."""

        def full(match: re.Match[str]) -> str:
            found = self.attribute_aliases.get(match[0])
            return match[0] if found is None else _print_text(found)

        return _BLANKS.sub(" ", _ALIAS.sub(full, text)).strip()


# Dialects whose own definitions are narrower than the text of other tools: verified at once. All
# operations are verified when the module has been read.
_LOOKED_AT = ("arith", "d2m", "ttkernel", "tensor")
# Dialects whose operations the table of graphs has in a form of its own.
_IN_BOTH = ("ttir", "ttnn")


def keep_their_form(op: Operation) -> Operation:
    """Keep a generic operation if only its form differs from ours (rule OWN)."""
    if isinstance(op, KeptOp):
        return op
    try:
        op.verify(verify_nested_ops=False)
        if not _means_theirs(op):
            return op
    except VerifyException:
        pass
    kind = form_class(op.name) or (kept_operation(op.name) if is_operation(op.name) else None)
    return op if kind is None else rebuild(op, kind)


def _means_theirs(op: Operation) -> bool:
    """Does it have their widths of padding, in another order and in lists of 32 bits?"""
    found = {**op.properties, **op.attributes}.get("padding")
    return isinstance(found, DenseArrayBase) and found.elt_type == i32


def _is_of_others(op: Operation) -> bool:
    parts = (*(value.type for value in (*op.operands, *op.results)), *op.properties.values())
    return any(isinstance(each, UnregisteredAttr) for each in parts)


def _unregistered() -> type[Operation]:
    from xdsl.dialects.builtin import UnregisteredOp

    return UnregisteredOp


def _print_text(attribute: Attribute) -> str:
    out = StringIO()
    Printer(stream=out).print_attribute(attribute)
    return out.getvalue()


class _Form:
    """One operation in its own form, while it is read."""

    def __init__(self, parser: KeepingParser, start: int):
        self.parser, self.last, self.depth = parser, start, 0
        self.name = ""
        self.source: str = parser.lexer.input.content
        self.text = ""
        self.before = ""  # the previous token
        self.operands: list[SSAValue] = []
        self.parts: list[Attribute] = []
        self.regions: list[Region] = []

    def read(self, name: str, results: int) -> Operation:
        self.name = name
        while not self._is_over():
            self._read_item()
        self._text_until(self.parser.pos)
        if self.depth or "$" in self.source[self.last : self.parser.pos]:
            self.parser.raise_error("this form has no end")
        return kept_text(name).of(
            self.text.rstrip(), self.operands, self.parts, self.regions, self._types(results)
        )

    def _types(self, count: int) -> list[Attribute]:
        """Return the types of the results (rule TYPES)."""
        if not count:
            return []
        types: list[Attribute] = []
        for part in self.parts:
            if isinstance(part, FunctionType):
                types += part.outputs.data
            elif isinstance(part, TypeAttribute):
                types.append(part)
        if count == 1 and self.name in _OWN_TYPE:
            return [keep_attribute(self.name, True, False, "")]
        if count == 1 and (not types or self.name in _INDEX):
            return [IndexType()]
        if self.name in _ELEMENT:
            types = [_element(types[0])]
        if self.name in _CONDITION and isinstance(types[-1], TileType):
            types = [TileType(types[-1].rows, types[-1].columns, i1)]
        if len(types) < count:
            self.parser.raise_error("the types of the results are missing")
        return types[-count:]

    # rule END

    def _is_over(self) -> bool:
        token = self.parser._current_token
        if token.kind == Kind.EOF or (token.kind == Kind.R_BRACE and not self.depth):
            return True
        if self.depth or self.before in _GOES_ON or not self._begins_line(token.span.start):
            return False
        if token.kind == Kind.BARE_IDENT:
            return "." in token.text or self._is_operation(token.text) or token.text == "loc"
        return token.kind in (
            Kind.PERCENT_IDENT,
            Kind.STRING_LIT,
            Kind.CARET_IDENT,
            Kind.HASH_IDENT,
            Kind.EXCLAMATION_IDENT,
            Kind.FILE_METADATA_BEGIN,
        )

    def _begins_line(self, position: int) -> bool:
        return not self.source[self.source.rfind("\n", 0, position) + 1 : position].strip()

    def _is_operation(self, name: str) -> bool:
        return self.parser._full_name(name) != name or name in ("module", "func")

    # The items of a form

    def _read_item(self) -> None:
        parser, token = self.parser, self.parser._current_token
        rest = token.span.start
        if token.kind == Kind.PERCENT_IDENT:
            with self._hole("a", len(self.operands)):
                self.operands.append(self._operand())
        elif token.kind == Kind.L_BRACE:
            self._read_braces()
        elif token.kind == Kind.LESS and self.before == "=":
            self._text_until(rest)
            self.text += f"<{parser._expand(parser._parse_dialect_symbol_body())}>"
            self.last = self._end()
        elif token.kind in (Kind.EXCLAMATION_IDENT,) or _TYPE.match(self.source, rest):
            with self._hole("k", len(self.parts)):
                self.parts.append(parser.parse_type())
        elif token.kind == Kind.HASH_IDENT or token.text in ("affine_map", "affine_set", "dense"):
            with self._hole("k", len(self.parts)):
                self.parts.append(parser.parse_attribute())
        else:
            self._read_token()
            return
        self.before = ""

    def _operand(self) -> SSAValue:
        parser = self.parser
        found = parser.parse_unresolved_operand()
        values = parser.ssa_values.get(found.operand_name)
        if values is None or found.index >= len(values):
            parser.raise_error(f"%{found.operand_name} is not defined before it is used")
        if _BINDING.match(self.source, self._end()) and not self.depth:
            parser.raise_error("a name is bound here")
        return values[found.index]

    def _end(self) -> int:
        """Return where the text before the current token ends."""
        position = self.parser.pos
        while self.source[position - 1].isspace():
            position -= 1
        return position

    def _read_braces(self) -> None:
        parser = self.parser
        found = _DICTIONARY.match(self.source, parser.pos)
        word = found["word"] if found else None
        if found and not (word and parser.ctx.get_optional_op(word) is not None):
            with self._hole("k", len(self.parts)):
                self.parts.append(parser.parse_attribute())
            return
        with self._hole("r", len(self.regions)):
            self.regions.append(parser.parse_region())

    def _read_token(self) -> None:
        token = self.parser._consume_token()
        self.before = token.text
        if token.text in ("(", "["):
            self.depth += 1
        elif token.text in (")", "]"):
            self.depth -= 1
            if self.depth < 0:
                self.parser.raise_error("a bracket that was not opened")

    @contextmanager
    def _hole(self, kind: str, number: int) -> Iterator[None]:
        self._text_until(self.parser.pos)
        yield
        self.text += f"${kind}{number}"
        self.last = self._end()

    def _text_until(self, end: int) -> None:
        between = self.source[self.last : end]
        if "$" in between:
            self.parser.raise_error("`$` has no meaning here")
        self.text += _BLANKS.sub(" ", between)
