"""The rule for severities, and what -W makes of them."""

from __future__ import annotations

import pytest

from ttl.config import Config, chosen_options
from ttl.diagnostics import Severity, UsageError, WarningOptions, codes
from ttl.diagnostics.code_table import codes_of
from ttl.diagnostics.diagnostic import ChipEffect, Diagnostic
from ttl.diagnostics.render import render_json, render_text

ERRORS = (
    ChipEffect.WRONG_DATA,
    ChipEffect.RACE,
    ChipEffect.HANG,
    ChipEffect.REFUSED,
    ChipEffect.NO_MEANING,
    ChipEffect.NOT_RUN,
    ChipEffect.ASKED,
)


def test_what_does_harm_on_the_chip_is_an_error() -> None:
    assert {each for each in ChipEffect if each.severity is Severity.ERROR} == set(ERRORS)
    assert not any(each.may_be_error for each in ERRORS)


@pytest.mark.parametrize(
    "code",
    [
        codes.BUFFER_LEFTOVER,
        codes.POPPED_UNREAD,
        codes.BLOCK_NOT_RELEASED,
        codes.RACE.mild,
        codes.OUTPUT_NOT_COVERED,
        codes.PIPE_UNUSED,
    ],
)
def test_what_the_chip_runs_rightly_is_a_warning(code) -> None:
    assert code.severity is Severity.WARNING


READ = {
    "": (),
    "error": (("error", None),),
    "error=TTL3006": (("error", "TTL3006"),),
    "ignore=popped-unread, error": (("ignore", "TTL3016"), ("error", None)),
    "error=TTL5005": (("error", "TTL5005"),),  # it is one, or a warning
    "ignore=TTL5005": (("ignore", "TTL5005"),),  # where it is a warning
    "ignore=TTL3014, error=order-dependent": (("ignore", "TTL5005"), ("error", "TTL5005")),  # 0.1
}


@pytest.mark.parametrize("text", READ)
def test_choices(text: str) -> None:
    assert WarningOptions.read(text).choices == READ[text]


def test_the_code_of_what_only_the_simulator_runs_stands_for_all_that_is_only_simulated() -> None:
    simulated = [each for each in codes.CATALOGUE.values() if each.milder is ChipEffect.SIMULATED]
    assert codes_of("TTL7006") == codes_of("simulator-only") == simulated


WRONG = {
    "ignore": "'ignore' is not error, error=CODE or ignore=CODE",
    "fatal": "'fatal' is not error, error=CODE or ignore=CODE",
    "error=": "'error=' is not error, error=CODE or ignore=CODE",
    "ignore=TTL5001": "'ignore=TTL5001': TTL5001 is an error, which cannot be ignored",
    "ignore=TTL9": "'ignore=TTL9': there is no code TTL9",
    "ignore=TTL2001": "'ignore=TTL2001': TTL2001 is an error, which cannot be ignored",
    "error=TTL5006": "'error=TTL5006': TTL5006 is a note, which cannot be an error",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_choices(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        WarningOptions.read(text)
    assert str(caught.value) == WRONG[text]
    with pytest.raises(UsageError) as refused:
        Config.from_environment({"TTL_WARNINGS": text, "HOME": "/"})
    assert f"TTL_WARNINGS={text}: {WRONG[text]}" in str(refused.value)


SEVERITIES = [  # choices, is it --strict, code, severity
    ("", False, codes.BUFFER_LEFTOVER, Severity.WARNING),
    ("", True, codes.BUFFER_LEFTOVER, Severity.ERROR),
    ("error", False, codes.BUFFER_LEFTOVER, Severity.ERROR),
    ("error=TTL3006", False, codes.BUFFER_LEFTOVER, Severity.ERROR),
    ("error=TTL3006", False, codes.POPPED_UNREAD, Severity.WARNING),
    ("ignore=TTL3006,error", False, codes.BUFFER_LEFTOVER, None),
    ("ignore=TTL3006", True, codes.BUFFER_LEFTOVER, None),
    ("ignore=TTL3006,error=TTL3006", False, codes.BUFFER_LEFTOVER, Severity.ERROR),
    ("error=TTL3006,ignore=TTL3006", False, codes.BUFFER_LEFTOVER, None),
    ("error", True, codes.NOT_PROVEN, Severity.NOTE),
    ("error", False, codes.SUPPLIED, Severity.ERROR),
    ("ignore=TTL3010", True, codes.SUPPLIED, None),
    ("", False, codes.SUPPLIED, Severity.NOTE),
    ("", False, codes.RACE, Severity.ERROR),
    ("ignore=TTL5005", False, codes.RACE, Severity.ERROR),
    ("", False, codes.RACE.mild, Severity.WARNING),
    ("ignore=TTL5005", False, codes.RACE.mild, None),
    ("error=race", False, codes.RACE.mild, Severity.ERROR),
]


@pytest.mark.parametrize(("text", "is_strict", "code", "severity"), SEVERITIES)
def test_severities(text, is_strict, code, severity) -> None:
    with chosen_options(warnings=text, strict=is_strict):
        assert Config.current().severity_of(code) is severity


def test_a_warning_that_was_made_an_error_looks_like_one() -> None:
    found = Diagnostic(codes.BUFFER_LEFTOVER, "a block is left").as_error()
    assert found.severity is Severity.ERROR
    assert render_text(found).startswith("error[TTL3006]: a block is left")
    assert '"severity": "error"' in render_json(found)
