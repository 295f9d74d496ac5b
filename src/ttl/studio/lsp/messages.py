"""Splits a client's stream into messages: headers, an empty line, a body.

rule SIZE   a message of more than 64 MB is skipped: a header alone must not reserve memory
rule AGAIN  after that, and after headers without a length, reading continues at the next line that
            ends with a length; JSON has no such line inside
"""

from __future__ import annotations

import re
import sys
from typing import BinaryIO

MOST_BYTES = 64 << 20
LINE_BYTES = 1 << 16  # bytes examined together
LENGTH = re.compile(rb"Content-Length: *(\d{1,18})\r?\n\Z", re.IGNORECASE)
LONGEST_HEADER = 64  # the longest such line


class Messages:
    """Stream like standard input, from which the server reads a header, an empty line, a body."""

    def __init__(self, stream: BinaryIO):
        self._stream = stream
        self._empty_line, self._body = b"", b""

    def readline(self) -> bytes:
        """Return the next message's header, then its empty line; nothing at the end."""
        if self._empty_line:
            line, self._empty_line = self._empty_line, b""
            return line
        self._body = self._next_body()
        if not self._body:
            return b""
        self._empty_line = b"\r\n"
        return b"Content-Length: %d\r\n" % len(self._body)

    def read(self, size: int) -> bytes:
        """Return the body, of the size in the header."""
        body, self._body = self._body, b""
        return body[:size]

    def _next_body(self) -> bytes:
        while (size := self._next_size()) is not None:
            if 0 < size <= MOST_BYTES:
                body = self._stream.read(size)
                return body if len(body) == size else b""
            if size:  # rule SIZE
                message = f"ttl lsp: a message of {size} bytes is left out: more than {MOST_BYTES}"
                print(message, file=sys.stderr, flush=True)
        return b""

    def _next_size(self) -> int | None:
        """Return the length in the next headers; None at the end.  (rule AGAIN)"""
        size, before = None, b""
        while line := self._stream.readline(LINE_BYTES):
            if (found := LENGTH.search(before + line)) is not None:
                size = int(found[1])
            elif size is not None and not line.strip():
                return size
            before = b"" if line.endswith(b"\n") else line[-LONGEST_HEADER:]
        return None
