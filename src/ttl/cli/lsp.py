"""ttl lsp"""

from __future__ import annotations

import argparse

from ttl.diagnostics import codes, usage_error


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "The language server, over standard input and output: an editor starts it. It shows what "
        "is wrong in a program while it is written, for the arguments of the last `ttl run`."
    )


def run(options: argparse.Namespace) -> int:
    try:
        from ttl.studio.lsp.server import serve
    except ModuleNotFoundError as error:
        if error.name not in ("pygls", "lsprotocol"):
            raise
        from _pyttlang_installation import install_extra

        raise usage_error(
            codes.PACKAGE_MISSING,
            "ttl lsp needs pygls, which is not installed",
            install_extra("editor"),
        ) from None
    serve()
    return 0
