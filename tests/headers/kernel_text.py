"""What a kernel's text shows without a compiler: faults that only the device's linker finds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NOISE = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
_BOUNDARY, _BRACE, _REST = re.compile(r"[{};]"), re.compile(r"[{}]"), re.compile(r"[^{};()#]*;")
_WORD, _CALLED = re.compile(r"[A-Za-z_]\w*"), re.compile(r"([A-Za-z_]\w*)\s*\(")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"][^>\"\n]+[>\"])[ \t]*$", re.MULTILINE)
_MACRO = re.compile(r"^[ \t]*#define (\w+)", re.MULTILINE)
_ENUMERATORS = re.compile(r"\benum\b[^{};()]*\{([^}]*)\}")
_MAIN = re.compile(r"\bkernel_main\s*\(\s*(?:void)?\s*\)\s*$")
_NAMESPACE = re.compile(r"^(?:inline\s+)?namespace\b[\w\s:]*$|^extern\b\s*$")
_NOT_A_VARIABLE = re.compile(
    r"(?:using|typedef|template|static_assert|extern|friend|asm|namespace"
    r"|constexpr|inline\s+constexpr|static\s+constexpr)\b|$"
)
_TYPE_DEFINITION = re.compile(
    r"(?:(?:static|const|volatile|inline)\s+)*(?:struct|class|enum|union)\b"
)
_CALLED_WITH_A_VALUE = re.compile(r"\w\s*\(\s*[-+\d]")


@dataclass(frozen=True, slots=True)
class Declaration:
    """One declaration at file or namespace level."""

    start: int  # offset in the text
    head: str  # up to its body or its semicolon
    namespaces: tuple[str, ...]
    has_body: bool


def blank_noise(text: str) -> str:
    """The text with comments, literals and directives turned into blanks; every offset stays."""
    return _NOISE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def declarations(text: str) -> Iterator[Declaration]:
    """The declarations outside every function and type, in order."""
    clean = blank_noise(text)
    namespaces: list[str] = []
    start = 0
    while found := _BOUNDARY.search(clean, start):
        head, start = clean[start : found.start()], found.end()
        if found.group() == "}":
            if namespaces:
                namespaces.pop()
        elif found.group() == "{" and _NAMESPACE.match(head.strip()):
            linkage_only = head.strip().startswith("extern")
            namespaces.append("" if linkage_only else head.strip())
        elif head.strip():
            offset = found.start() - len(head.lstrip())
            names = tuple(name for name in namespaces if name)
            yield Declaration(offset, head.strip(), names, found.group() == "{")
            if found.group() == "{":
                start = _body_end(clean, start)


def _body_end(clean: str, position: int) -> int:
    """Past the brace that closes a body, and past the rest of a declaration that goes on."""
    depth = 1
    while depth and (brace := _BRACE.search(clean, position)):
        depth += 1 if brace.group() == "{" else -1
        position = brace.end()
    if depth:
        return len(clean)
    semicolon = _REST.match(clean, position)
    return semicolon.end() if semicolon else position


def declared_in(expanded: str) -> set[str]:
    """The names that preprocessed text (with its macros) declares for those who include it."""
    names = set(_MACRO.findall(expanded))
    for body in _ENUMERATORS.findall(expanded):
        names.update(_WORD.findall(body))
    for item in declarations(expanded):
        names.update((_CALLED if "(" in item.head else _WORD).findall(item.head))
    return names


def included(text: str) -> list[str]:
    """What is included, as it is written."""
    return _INCLUDE.findall(text)


def without_includes(text: str) -> str:
    """No line moves."""
    return _INCLUDE.sub("", text)


def is_one_function(text: str) -> bool:
    """Is it kernel_main and nothing else, after includes?"""
    rest = without_includes(text)
    if re.search(r"^[ \t]*#", rest, re.MULTILINE):
        return False
    clean, items = blank_noise(rest), list(declarations(rest))
    return (
        clean.count("{") == clean.count("}")
        and len(items) == 1
        and bool(_MAIN.search(items[0].head))
        and items[0].has_body
        and not items[0].namespaces
    )


def linker_faults(text: str) -> list[str]:
    """A kernel_main that the wrapper's call would not reach."""
    faults = []
    mains = [item for item in declarations(text) if item.has_body and _MAIN.search(item.head)]
    if not mains:
        faults.append("kernel.cpp: error: no definition of kernel_main()")
    for item in mains:
        if item.namespaces:
            line = text.count("\n", 0, item.start) + 1
            faults.append(f"kernel.cpp:{line}: error: kernel_main() inside `{item.namespaces[-1]}`")
    return faults


def require_constant_globals(text: str) -> str:
    """The text with `__constinit` before every variable at file level.

    The device runs no constructors; with this word the compiler rejects an initializer that it
    cannot evaluate. No line moves.
    """
    pieces, position = [], 0
    for item in declarations(text):
        if _is_variable(item):
            pieces += [text[position : item.start], "__constinit "]
            position = item.start
    return "".join([*pieces, text[position:]])


def _is_variable(item: Declaration) -> bool:
    head = re.sub(r"\[\[.*?\]\]|__attribute__\s*\(\(.*?\)\)", "", item.head).strip()
    if _NOT_A_VARIABLE.match(head) or _TYPE_DEFINITION.match(head):
        return False
    if "=" in _without_parentheses(head):
        return "operator" not in head
    if "(" in head:
        return not item.has_body and bool(_CALLED_WITH_A_VALUE.search(head))
    return len(head.split()) > 1


def _without_parentheses(head: str) -> str:
    """The head without anything in parentheses, where `=` gives a parameter its default."""
    while (shorter := re.sub(r"\([^()]*\)", "", head)) != head:
        head = shorter
    return head
