"""ttl completion SHELL"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import chain

from .verbs import VERBS

SHELLS = ("bash", "zsh", "fish")
COMMAND = "ttl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Print a script that completes verbs, options and files in a shell. For bash: "
        "`ttl completion bash > ~/.local/share/bash-completion/completions/ttl`; for zsh: "
        "`ttl completion zsh > a folder of $fpath, as _ttl`; for fish: "
        "`ttl completion fish > ~/.config/fish/completions/ttl.fish`."
    )
    parser.add_argument("shell", choices=SHELLS)


def run(options: argparse.Namespace) -> int:
    verbs = {name: list(_options(name)) for name in VERBS}
    make = {"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell]
    print("\n".join(make(verbs)))
    return 0


Options = dict[str, list[argparse.Action]]


def _options(verb: str) -> Iterator[argparse.Action]:
    from . import module_of

    parser = argparse.ArgumentParser(prog=f"{COMMAND} {verb}")
    module_of(verb).add_arguments(parser)
    return (action for action in parser._actions if action.option_strings or action.choices)


def _words(actions: list[argparse.Action]) -> str:
    """Return the options and their listed values."""
    given = chain.from_iterable((*a.option_strings, *map(str, a.choices or ())) for a in actions)
    return " ".join(given)


def _bash(verbs: Options) -> Iterator[str]:
    yield f"_{COMMAND}() {{"
    yield '  local word="${COMP_WORDS[COMP_CWORD]}" words="" verb="${COMP_WORDS[1]}"'
    yield "  COMPREPLY=()"
    yield '  if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f'    COMPREPLY=($(compgen -W "{" ".join(verbs)} --help --version" -- "$word")); return'
    yield "  fi"
    yield '  case "$verb" in'
    for name, actions in verbs.items():
        yield f'    {name}) words="{_words(actions)}" ;;'
    yield "  esac"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$word"))'
    yield '  [[ "$word" == -* ]] || COMPREPLY+=($(compgen -f -- "$word"))'
    yield "}"
    yield f"complete -o filenames -F _{COMMAND} {COMMAND}"


def _zsh(verbs: Options) -> Iterator[str]:
    yield f"#compdef {COMMAND}"
    yield "local -a verbs words"
    yield "verbs=("
    for name, text in VERBS.items():
        yield f"  {_quote(f'{name}:{text}')}"
    yield ")"
    yield "if (( CURRENT == 2 )); then _describe verb verbs; return; fi"
    yield "case $words[2] in"
    for name, actions in verbs.items():
        yield f"  {name}) compadd -- {_words(actions)} ;;"
    yield "esac"
    yield "_files"


def _fish(verbs: Options) -> Iterator[str]:
    for name, text in VERBS.items():
        yield f"complete -c {COMMAND} -n __fish_use_subcommand -a {name} -d {_quote(text)}"
    for name, actions in verbs.items():
        here = f"complete -c {COMMAND} -n '__fish_seen_subcommand_from {name}'"
        for action in actions:
            longs = [option[2:] for option in action.option_strings if option.startswith("--")]
            shorts = [o[1:] for o in action.option_strings if not o.startswith("--")]
            flags = [*(f"-l {long}" for long in longs), *(f"-s {short}" for short in shorts)]
            values = [f"-a {_quote(' '.join(map(str, action.choices)))}"] if action.choices else []
            shown = (action.help or "").replace("%(default)s", str(action.default))
            yield " ".join([here, *flags, *values, "-d", _quote(shown)])


def _quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "'\\''") + "'"
