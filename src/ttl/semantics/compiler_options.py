"""The string of compiler options: `--no-ttl-maximize-dst --ttl-l1-budget 100000`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from ttl.diagnostics import RuleBroken, codes

# The public compiler's names; --no-NAME turns a switch off.
SWITCHES = {
    "ttl-maximize-dst": True,
    "ttl-fpu-binary-ops": True,
    "ttl-block-matmul": True,
    "ttl-subblock-sync": False,
    "ttl-combine-pack-tiles": True,
    "ttl-reduce-full-fp32": True,
    "ttl-matmul-full-fp32": True,
    "ttl-strict-f32-acc": False,
    "ttl-compiler-dfbs": True,
}
NUMBERS = ("ttl-l1-budget",)

Options = Mapping[str, bool | int]
DEFAULTS: Options = MappingProxyType(dict(SWITCHES))


@lru_cache(maxsize=256)
def parse_options(*layers: str | None) -> Options:
    """Parse the options of all layers; later layers win."""
    options: dict[str, bool | int] = dict(SWITCHES)
    for layer in filter(None, layers):
        import shlex  # few operations have options

        tokens = iter(shlex.split(layer))
        for token in tokens:
            name, _, value = token.removeprefix("--").partition("=")
            if name in NUMBERS:
                options[name] = _number(name, value or next(tokens, ""))
            elif name in SWITCHES:
                options[name] = True
            elif name.removeprefix("no-") in SWITCHES:
                options[name.removeprefix("no-")] = False
            else:
                raise _unknown(token)
    return MappingProxyType(options)


def _number(name: str, text: str) -> int:
    if not text.isdigit():
        raise codes.WRONG_OPTION.broken(
            f"--{name} needs a number, not {text!r}", f"write for example --{name} 1000000"
        )
    return int(text)


def _unknown(token: str) -> RuleBroken:
    from difflib import get_close_matches

    names = [*SWITCHES, *NUMBERS]
    near = [f"--{name}" for name in get_close_matches(token.removeprefix("--"), names)]
    return codes.WRONG_OPTION.broken(
        f"{token} is not a compiler option",
        *((f"did you mean {' or '.join(near)}?",) if near else ()),
        notes=(f"options: {', '.join(f'--{name}' for name in names)}; switches also --no-...",),
    )
