"""What `make test-sanitize` reports."""

from __future__ import annotations

from pathlib import Path

import pytest

import sanitize

REPORT = """\
==1==WARNING: ASan is ignoring requested __asan_handle_no_return: stack type: default
False positive error reports may follow
For details see https://github.com/google/sanitizers/issues/189
"""
FOUND = "==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1\n"


def test_warnings_about_fibers_are_no_reports(tmp_path: Path) -> None:
    file = tmp_path / "report.1"
    file.write_text(REPORT)
    assert sanitize.found_in(file) == ""
    file.write_text(REPORT + FOUND)
    assert sanitize.found_in(file) == FOUND.strip()


@pytest.mark.parametrize("name", sanitize.SANITIZERS)
def test_the_environment(name: str) -> None:
    made = sanitize.environment(name)
    assert made["CXX"].startswith(f"g++ -fsanitize={name}")
    assert all(Path(each).is_file() for each in made["LD_PRELOAD"].split())
    assert made["PYTTLANG_CACHE"].startswith(str(sanitize.FOLDER))


@pytest.mark.full
def test_an_overflow_is_found(tmp_path: Path) -> None:
    """A test that writes after the end of its memory ends with a report."""
    test = tmp_path / "test_overflow.py"
    test.write_text(
        "import ctypes, subprocess\n"
        "def test(tmp_path):\n"
        "    source, library = tmp_path / 'a.cpp', tmp_path / 'a.so'\n"
        "    source.write_text('extern \"C\" char f(int n) {'\n"
        "                      'char* p = new char[4]; p[n] = 1; return p[0]; }')\n"
        "    import os\n"
        "    command = [*os.environ['CXX'].split(), '-shared', '-fPIC', source, '-o', library]\n"
        "    subprocess.run(command, check=True)\n"
        "    ctypes.CDLL(str(library)).f(4)\n"
    )
    assert sanitize.main(["address", str(test)]) == 1
    reports = list((sanitize.FOLDER / "address").iterdir())
    assert any("heap-buffer-overflow" in sanitize.found_in(each) for each in reports)
