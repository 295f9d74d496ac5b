"""Errors as data: codes, spans and labels; and their rendering."""

from . import catalogue as codes
from .diagnostic import OBSERVER, Blame, ChipEffect, Code, Diagnostic, Label, RuleBroken, Severity
from .errors import (
    CompileError,
    InternalError,
    KernelFault,
    TTLError,
    UsageError,
    WrongValue,
    at_the_call,
    file_not_usable,
    hide_frames,
    install_exception_hook,
    reading,
    usage_error,
    writing,
    wrong_argument,
)
from .render import render_all, render_json, render_text
from .severity import WarningOptions
from .span import Span

TTLangCompileError = TTLError  # its name in the public package

__all__ = [
    "OBSERVER",
    "Blame",
    "ChipEffect",
    "Code",
    "CompileError",
    "Diagnostic",
    "InternalError",
    "KernelFault",
    "Label",
    "RuleBroken",
    "Severity",
    "Span",
    "TTLError",
    "TTLangCompileError",
    "UsageError",
    "WarningOptions",
    "WrongValue",
    "at_the_call",
    "codes",
    "file_not_usable",
    "hide_frames",
    "install_exception_hook",
    "reading",
    "render_all",
    "render_json",
    "render_text",
    "usage_error",
    "writing",
    "wrong_argument",
]
