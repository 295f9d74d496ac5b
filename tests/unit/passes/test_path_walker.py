"""Paths through a kernel: which branches are taken together, and what a client gets to see."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Operation
from xdsl.parser import Parser

from ttl.dialects import make_context
from ttl.dialects.conditions import Facts
from ttl.passes.path_walker import PathWalker


@dataclass
class Seen:
    """The names of the calls on a path."""

    names: tuple[str, ...] = ()
    facts: Facts = field(default_factory=dict)

    def copy(self, facts: Facts) -> Seen:
        return Seen(self.names, facts)


class Calls(PathWalker[Seen]):
    def step(self, op: Operation, paths: list[Seen]) -> list[Seen]:
        if op.name == "func.call":
            for path in paths:
                path.names += (str(op.properties["callee"]),)
        return paths

    def loop(self, op: Operation, paths: list[Seen]) -> list[Seen]:
        return self.regions(op, paths)


def paths_of(body: str, walker: PathWalker[Seen]) -> list[str]:
    text = f"func.func @kernel(%a : i1, %b : i1) {{ {body} func.return }}"
    (kernel,) = Parser(make_context(), text).parse_module().ops
    found = walker.block(kernel.regions[0].block, [Seen()])
    return ["".join(path.names).replace("@", "") for path in found]


def test_conditions_that_differ_are_taken_in_all_ways() -> None:
    body = """
      scf.if %a { func.call @p() : () -> () }
      scf.if %b { func.call @q() : () -> () } else { func.call @r() : () -> () }
    """
    assert paths_of(body, Calls()) == ["pq", "q", "pr", "r"]


def test_a_path_decides_the_same_again_and_the_opposite_otherwise() -> None:
    body = """
      scf.if %a { func.call @p() : () -> () }
      %true = arith.constant true
      %not = arith.xori %a, %true : i1
      scf.if %not { func.call @q() : () -> () }
      scf.if %a { func.call @r() : () -> () }
    """
    assert sorted(paths_of(body, Calls())) == ["pr", "q"]


def test_a_client_may_join_paths() -> None:
    class One(Calls):
        def merge(self, paths: list[Seen]) -> list[Seen]:
            return paths[:1]

    body = """
      scf.if %a { func.call @p() : () -> () } else { func.call @q() : () -> () }
      scf.if %b { func.call @r() : () -> () }
    """
    assert paths_of(body, One()) == ["pr"]
