"""Turns Python's errors about a wrong use of the language into the language's own messages.

Python raises a TypeError or an AttributeError if a program misuses a block or a buffer, or calls a
function of the language with wrong arguments. Its text counts `self` and names classes of the
engine, which users do not know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from inspect import Parameter, signature
from types import FrameType, FunctionType, TracebackType
from typing import NamedTuple

from ttl.diagnostics import Code, RuleBroken, codes
from ttl.diagnostics.frames import is_pyttlang_file
from ttl.diagnostics.names import no_such_name, undefined_name
from ttl.loading.packages import is_ours
from ttl.semantics.function_source import WrittenCall
from ttl.semantics.function_source import written_call as call_at
from ttl.semantics.ops import NAMESPACES

from .arguments import is_tensor
from .block import Block
from .calls import call_problem, meant, written_call, wrong_call
from .described import BUFFER_HELP, TENSOR_HELP, PublicClass, public_class, public_classes_by_name
from .transfer import Transfer

UNDEFINED = re.compile(r"name '(\w+)' is not defined")
UNBOUND = re.compile(r"cannot access free variable '(\w+)' where it is not associated")


def misspelt_name(
    error: NameError, around: tuple[str, ...], captured: tuple[str, ...] = ()
) -> RuleBroken | None:
    """Describe an undefined name in a kernel.

    `around` has the names of the operation, `captured` those that the kernel captures.
    """
    frame, text = _innermost_frame(error), str(error)
    match, unbound = UNDEFINED.match(text), UNBOUND.match(text)
    if unbound is not None and unbound[1] in captured:
        match = unbound
    if frame is None or match is None or is_pyttlang_file(frame.f_code.co_filename):
        return None
    return undefined_name(match[1], None, (*around, *frame.f_locals, *frame.f_globals))


def language_mistake(error: Exception) -> RuleBroken | None:
    """Return the broken rule behind `error`, or None if the language is not involved."""
    if not isinstance(error, (AttributeError, TypeError)):
        return None
    frame = _innermost_frame(error)
    if frame is None or is_pyttlang_file(frame.f_code.co_filename):
        return None
    text = _translate_text(error)
    if isinstance(error, AttributeError) and (missing := missing_name(error)):
        return missing
    return _wrong_call(text, frame) or _describe_impossible(text, frame)


def _innermost_traceback(error: Exception) -> TracebackType | None:
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback


def _innermost_frame(error: Exception) -> FrameType | None:
    traceback = _innermost_traceback(error)
    return traceback.tb_frame if traceback is not None else None


# What compiled classes say ------------------------------------------------------------------------

COMPILED_CLASSES = (Block, Transfer)
READ_ONLY = re.compile(r"attribute '(\w+)' of '(?:Block|BlockExpression)' objects is not writable")
COMPILED_CALL = re.compile(
    r"(?P<method>\w+)\(\) (?:missing required argument '(?P<missing>\w+)' .*"
    r"|takes (?:at most|exactly) \d+ (?:keyword |positional )?arguments? \((?P<given>\d+) given\))"
)
COMPILED_KEYWORD = re.compile(r"'\w+' is an invalid keyword argument for (?P<method>\w+)\(\)")
COMPILED_OPERATOR = re.compile(r"expected \d+ arguments?, got (?P<given>\d+)")


def _translate_text(error: Exception) -> str:
    """Return the error's text as the interpreter writes it for a class that is not compiled."""
    text, call = _with_setter(str(error), _engine_name(Block)), _find_call(error)
    if match := COMPILED_CALL.fullmatch(text):
        missing, given = match["missing"], match["given"]
        return _translate_call(match["method"], missing, given, call.keywords) or text
    if match := COMPILED_KEYWORD.fullmatch(text):
        return _translate_call(match["method"], None, None, call.keywords) or text
    if match := COMPILED_OPERATOR.fullmatch(text):
        return _translate_call(call.name, None, match["given"], ()) or text
    return text


def _with_setter(text: str, name: str) -> str:
    return READ_ONLY.sub(rf"property '\1' of '{name}' object has no setter", text)


def _translate_call(
    method: str, missing: str | None, given: str | None, keywords: Iterable[str]
) -> str | None:
    owner = next((each for each in COMPILED_CLASSES if hasattr(each, method)), None)
    if owner is None:
        return None
    call = f"{_engine_name(owner)}.{method}()"
    known = [*signature(getattr(owner, method)).parameters][1:]
    unknown = [name for name in keywords if name not in known]
    if unknown:
        return f"{call} got an unexpected keyword argument '{unknown[0]}'"
    if given == "0" and known:
        missing = known[0]
    if missing:
        return f"{call} missing 1 required positional argument: '{missing}'"
    return f"{call} takes fewer positional arguments but {int(given or 0) + 1} were given"


def _engine_name(public: type) -> str:
    """Return the engine's name of a class: the program may have a class of the public name."""
    subclasses: list[type] = public.__subclasses__()
    return (subclasses[0] if subclasses else public).__name__


def _find_call(error: Exception) -> WrittenCall:
    """Return the call that failed, as the source has it."""
    traceback = _innermost_traceback(error)
    found = call_at(traceback.tb_frame.f_code, traceback.tb_lasti) if traceback else None
    return found or WrittenCall("", ())


# Names --------------------------------------------------------------------------------------------


MISSING = re.compile(r"'(?P<type>\w+)' object has no attribute '(?P<name>\w+)'")


def missing_name(error: AttributeError) -> RuleBroken | None:
    """Describe a missing attribute of a language object or a tensor; None for other objects."""
    match = MISSING.match(str(error))
    if match is None:
        return None
    name = match["name"]
    public = public_class(error.obj)
    if error.name is None:  # before Python 3.12 in an assignment
        public = public_classes_by_name().get(match["type"])
    if public is not None:
        return no_attribute(public, name)
    if error.name is None and match["type"] == "Tensor":
        return no_such_name("a tensor", name, ())
    if is_tensor(error.obj):
        names = [name for name in dir(error.obj) if not name.startswith("_")]
        return no_such_name("a tensor", name, names)
    return None


def no_attribute(public: PublicClass, name: str) -> RuleBroken:
    return no_such_name(public.noun, name, public.names, instead=_find_helps(public, name))


def _find_helps(public: PublicClass, name: str) -> dict[str, str]:
    """Return what to write instead: for `x.exp()` the function of the language."""
    is_value = public.noun in ("a block", "a block expression")
    found = next((n for n in (name, f"reduce_{name}") if n in NAMESPACES["math"]), None)
    if is_value and found is not None:
        (call, *_) = NAMESPACES["math"][found].calls
        return {name: f"write {call}"} | public.instead
    return public.instead


# Calls --------------------------------------------------------------------------------------------

CALL = re.compile(r"(?P<called>[\w.]+)\(\) (?P<problem>(?:missing|takes|got) .*)", re.DOTALL)
GIVEN = re.compile(r"but (\d+)")
USERS_CALL = re.compile(r"(?:.*\.)?(\w+)\(\) (?:missing|takes|got) ")


def _wrong_call(text: str, frame: FrameType) -> RuleBroken | None:
    match = CALL.match(text)
    called = _find_called(match["called"], frame) if match else None
    if match is None or called is None:
        return None
    spelling, parameters = called
    given = GIVEN.search(match["problem"])
    count = int(given[1]) - ("." in match["called"]) if given is not None else None
    return codes.WRONG_ARGUMENT.broken(
        f"{spelling}() {call_problem(match['problem'], parameters, count)}",
        *meant(match["problem"], parameters),
        written_call(spelling, parameters),
    )


def wrong_method_call(public: str, method: str, error: TypeError, given: int) -> RuleBroken | None:
    """Describe a wrong method call in a compiled kernel; `error` comes from Signature.bind()."""
    found = public_classes_by_name().get(public)
    function = None if found is None else getattr(found.type, method, None)
    if function is None:
        return None
    parameters = _parameters(function)[1:]
    return wrong_call(f"{public}.{method}", parameters, error, given)


def wrong_function_call(
    function: Callable[..., object], error: TypeError, given: int
) -> RuleBroken | None:
    name = getattr(function, "__name__", "")
    if _find_function(name) is not function:
        return None
    return wrong_call(f"ttl.{name}", _parameters(function), error, given)


def signature_help(error: BaseException) -> tuple[str, ...]:
    """Return the correct call of a function of the program that was called wrongly."""
    match = USERS_CALL.match(str(error)) if isinstance(error, TypeError) else None
    frame = _innermost_frame(error) if isinstance(error, TypeError) else None
    if match is None or frame is None:
        return ()
    found = frame.f_locals.get(match[1], frame.f_globals.get(match[1]))
    if not isinstance(found, FunctionType):
        return ()
    return (written_call(match[1], _parameters(found)),)


def _find_called(name: str, frame: FrameType) -> tuple[str, list[Parameter]] | None:
    """Return the public spelling of a function and its parameters without `self`."""
    owner, _, method = name.rpartition(".")
    if _is_users_name(owner or name, frame):
        return None
    if not owner:
        function = _find_function(name)
        return (f"ttl.{name}", _parameters(function)) if function is not None else None
    public = public_classes_by_name().get(owner)
    if public is None or not hasattr(public.type, method):
        return None
    parameters = _parameters(getattr(public.type, method))[1:]
    known = public.type.__name__
    return (f"ttl.{known}" if method == "__init__" else f"{known}.{method}"), parameters


def _find_function(name: str) -> Callable[..., object] | None:
    """Return the function of `ttl` with this name."""
    from ttl import language  # its modules import this one

    found = getattr(language.math if name == "matmul" else language, name, None)
    return found if isinstance(found, FunctionType) else None


def _is_users_name(name: str, frame: FrameType) -> bool:
    """Return whether the name is a function or class of the program, which may shadow ours."""
    found = frame.f_locals.get(name, frame.f_globals.get(name))
    module = getattr(found, "__module__", None) or ""
    return isinstance(found, (FunctionType, type)) and not is_ours(module)


def _parameters(function: Callable[..., object]) -> list[Parameter]:
    return list(signature(function).parameters.values())


# What objects cannot do ---------------------------------------------------------------------------


class Complaint(NamedTuple):
    """A message of Python; the groups of `pattern` are types, or `what` the program does."""

    pattern: str
    message: str  # {0} and {1}: the types as nouns
    help: str  # for blocks and block expressions
    code: Code = codes.BLOCK_IN_PYTHON  # for these, and slices of tensors


NUMBER = "elements are not known to Python: compute with block expressions and ttl.math"
WHOLE = "the language works on whole blocks; ttl.copy decides which part of a tensor a block has"
SELECTED = (
    "the language works on whole blocks: copy the part into a block of its shape, "
    "ttl.copy(tensor[0:1, 0:1], part).wait()"
)

ENDS = "a kernel ends where its function does: use `return`, or raise an exception"
WRITTEN = "write all of it: block.store(expression), or ttl.copy(tensor_slice, block)"
OPERATORS_OF_BLOCKS = "blocks have + - * / @ % // ** ^ and comparisons"
SIGNS_OF_BLOCKS = "write x, -x or abs(x)"
INDEXED = codes.BLOCK_INDEXED
BLOCK_NOUNS = frozenset({"a block", "a block expression"})
# Python knows the elements of neither blocks nor slices of tensors.
UNKNOWN_NOUNS = BLOCK_NOUNS | {"a tensor slice"}

COMPLAINTS = (
    Complaint(r"'(\w+)' object is not subscriptable", "{0} cannot be indexed", SELECTED, INDEXED),
    Complaint(
        r"'(\w+)' object does(?: not|n't) support item (?:assignment|deletion)",
        "{0} cannot be changed by index",
        WRITTEN,
        INDEXED,
    ),
    Complaint(
        r"'(\w+)' object is not iterable|cannot unpack non-iterable (\w+) object"
        r"|argument of type '(\w+)' is not|'(\w+)' object is not (?:reversible|an iterator)",
        "{0} cannot be iterated over",
        WHOLE,
    ),
    Complaint(r"'(\w+)' object is not callable", "{0} is not a function", ""),
    Complaint(r"object of type '(\w+)' has no len\(\)", "{0} has no length", "write x.shape"),
    Complaint(
        r"unsupported operand type\(s\) for (?P<what>.+?): '([\w.]+)' and '([\w.]+)'"
        r"|'(?P<compared>.+?)' not supported between instances of '([\w.]+)' and '([\w.]+)'",
        "{what} does not work on {0} and {1}",
        OPERATORS_OF_BLOCKS,
    ),
    Complaint(
        r"bad operand type for unary (?P<what>.): '(\w+)'",
        "unary {what} does not work on {0}",
        SIGNS_OF_BLOCKS,
    ),
    Complaint(
        r".*must be (?:a string|real number|a real number|a number|integers or slices).*"
        r"not '?(\w+)'?|'(\w+)' object cannot be interpreted as an integer"
        r"|.*a (?:real )?number is required, not (\w+)|type (\w+) doesn't define __round__.*"
        r"|.*can't convert (\w+) to .*",
        "{0} is not one number",
        NUMBER,
    ),
    Complaint(
        r"unsupported format string passed to (\w+)\.__format__",
        "{0} has no format",
        "show it with print(block)",
    ),
    Complaint(
        r"property '(?P<what>\w+)' of '(\w+)' object has no (?:setter|deleter)"
        r"|'(\w+)' object attribute '(?P<assigned>\w+)'",
        "`{what}` of {0} cannot be changed",
        "ttl.make_dataflow_buffer_like() decides it for the blocks of a dataflow buffer",
        codes.WRONG_ARGUMENT,
    ),
    Complaint(
        # Since 3.14 the message includes the module of the class.
        r"'(?:\w+\.)*(\w+)' object does not support the (?:asynchronous )?context manager protocol",
        "{0} cannot be used in a `with`",
        "blocks that reserve() or wait() returns can",
        codes.WRONG_ARGUMENT,
    ),
    Complaint(
        r"operand '(\w+)' does not support ufuncs|loop of ufunc does not support argument \d+ "
        r"of type (\w+)",
        "numpy does not compute with {0}",
        NUMBER,
    ),
)


def impossible_use(error: Exception, values: Iterable[object]) -> RuleBroken | None:
    """Describe Python's refusal; None unless a value is a tensor or of the language."""
    classes = {type(value): public_class(value) for value in values}
    public = {type_.__name__: found for type_, found in classes.items() if found is not None}
    if not public and not any(is_tensor(value) for value in values):
        return None
    return _find_complaint(_with_setter(str(error), Block.__name__), public)


def _describe_impossible(text: str, frame: FrameType) -> RuleBroken | None:
    classes = public_classes_by_name().items()
    return _find_complaint(text, {n: found for n, found in classes if not _is_users_name(n, frame)})


def _find_complaint(text: str, public: dict[str, PublicClass]) -> RuleBroken | None:
    for complaint in COMPLAINTS:
        match = re.match(complaint.pattern, text)
        if match is not None:
            return _describe_complaint(complaint, match, public)
    return _rename_classes(text, public)


def _describe_complaint(
    complaint: Complaint, match: re.Match[str], public: dict[str, PublicClass]
) -> RuleBroken | None:
    named = match.re.groupindex.values()
    types = [type_ for at, type_ in enumerate(match.groups(), 1) if type_ and at not in named]
    if not any(name in public or name == "Tensor" for name in types):
        return None
    nouns = [_noun(name, public) for name in types]
    code = complaint.code if UNKNOWN_NOUNS & set(nouns) else codes.WRONG_ARGUMENT
    return code.broken(
        complaint.message.format(*nouns, what="".join(filter(None, match.groupdict().values()))),
        *tuple(filter(None, (_help(complaint, nouns),))),
    )


def _noun(name: str, public: dict[str, PublicClass]) -> str:
    if name in public:
        return public[name].noun
    return "a tensor" if name == "Tensor" else f"a value of type {name}"


def _help(complaint: Complaint, nouns: list[str]) -> str:
    if BLOCK_NOUNS & set(nouns):
        return complaint.help
    if "a dataflow buffer" in nouns:
        return BUFFER_HELP
    return TENSOR_HELP if {"a tensor", "a tensor slice"} & set(nouns) else ""


def _rename_classes(text: str, public: dict[str, PublicClass]) -> RuleBroken | None:
    """Replace an engine's class names by public nouns in any other message."""
    known = {name: found.noun for name, found in public.items() if name.startswith("Sim")}
    pattern = rf"'?\b({'|'.join(known)})\b'?"
    if not known or not re.search(pattern, text):
        return None
    renamed = re.sub(pattern, lambda match: known[match[1]], text)
    is_block = any(known[name] in BLOCK_NOUNS for name in re.findall(pattern, text))
    return (codes.BLOCK_IN_PYTHON if is_block else codes.WRONG_ARGUMENT).broken(renamed, NUMBER)
