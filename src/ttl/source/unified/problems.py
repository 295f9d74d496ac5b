"""The problems of a unified body, in words."""

from __future__ import annotations

from dataclasses import dataclass

from ttl.diagnostics import Diagnostic, Label, UsageError, codes
from ttl.diagnostics.diagnostic import Code

from .. import tree
from ..python import as_text
from .units import Inline, Site, Unit

Spot = Unit | Site | tuple[Inline, tree.Node]


@dataclass(frozen=True, slots=True)
class Problem:
    """A message; the place that reports the problem supplies the names in braces."""

    code: Code
    message: str
    help: str
    label: str = ""
    notes: tuple[str, ...] = ()

    def at(self, spot: Spot, *others: Label, **facts: object) -> Diagnostic:
        """Make the diagnostic, with the places where the operation is expanded."""
        frame, node = spot if isinstance(spot, tuple) else (spot.frame, spot.node)
        message, help_text, label = (
            text.format(**facts) for text in (self.message, self.help, self.label)
        )
        broken = self.code.broken(message, help_text, notes=self.notes, **facts)
        return broken.with_labels(*others, *frame.call_labels()).at(frame.span(node), label)

    def error(self, spot: Spot, *others: Label, **facts: object) -> UsageError:
        return UsageError(self.at(spot, *others, **facts))


UNKNOWN_CALL = Problem(
    codes.UNKNOWN_CALL,
    "no thread is known for the call of `{call}`",
    "call a function of your program or a unified operation, or compute what it gives "
    "before the operation is called",
    "neither the language's, nor a function or operation whose definition is found",
)


def unknown_call(frame: Inline, node: tree.Call) -> Diagnostic:
    return UNKNOWN_CALL.at((frame, node), call=as_text(node.function))


EXPAND_ONLY = Problem(
    codes.COMPOSITION,
    "`{parameter}` of `{operation}` is a tensor here, and its body wants a dataflow "
    "buffer or a pipe net",
    "call `{operation}` as a statement in the body of another operation, which "
    "gives it a buffer or a net for `{parameter}`",
    notes=("an operation with buffers or nets as parameters is only expanded, not run",),
)
STATEMENT_BESIDE = Problem(
    codes.MIXED_FORMS,
    "`{operation}` has the kernel `{kernel}`, and this statement of a kernel beside it",
    "put the statement into a kernel, or take the kernels' decorators and "
    "functions away and leave their statements",
    "work outside of the kernels",
)
NOT_HERE = Problem(
    codes.NOT_IN_KERNELS,
    "{what} in the body of a unified operation",
    "use assignments, calls, `with`, `if`, `for` and `while`",
)
RETURNS_VALUE = Problem(
    codes.WRONG_DECLARATION,
    "{operation} returns a value",
    "operations return nothing: write results into tensor arguments",
)

# Called operations --------------------------------------------------------------------------------

DEFINED_INSIDE = Problem(
    codes.COMPOSITION,
    "operation `{inner}` is defined in the body of `{operation}`",
    "define it outside, also by a function that returns it, and call it here; or write a "
    "function without the decorator",
)
NEW_VALUE = Problem(
    codes.COMPOSITION,
    "the parameter `{parameter}` gets another value",
    "give the new value a name of its own",
)
REFUSED_ARGUMENT = Problem(
    codes.COMPOSITION,
    "`{operation}` cannot be given this for `{parameter}`",
    "operations take tensors, dataflow buffers, pipe nets, semaphores and numbers",
)
NO_STATEMENT = Problem(
    codes.COMPOSITION,
    "operation `{operation}` is not called as a statement",
    "call it as a statement of its own, in the body of the operation",
)
RECURSION = Problem(
    codes.COMPOSITION,
    "`{operation}` calls itself: {cycle}",
    "operations are expanded in place, so none may lead back to itself: write a loop",
)
MULTI_KERNEL = Problem(
    codes.COMPOSITION,
    "`{operation}` is a multi-kernel operation",
    "call unified operations only: those whose kernels are not written by hand",
)
UNPACKED = Problem(
    codes.COMPOSITION,
    "the arguments of `{operation}` are not written one by one",
    "write each argument: an expansion takes no `*` and no `**`",
)
WRONG_ARGUMENTS = Problem(
    codes.COMPOSITION,
    "`{operation}` is called {wrong}",
    "give every parameter once: an expansion has no defaults",
)
NOT_KNOWN_BEFORE = Problem(
    codes.COMPOSITION,
    "which one is given for `{parameter}` is not known before the kernels run",
    "write one call for each buffer, net or tensor",
)

# Threads ------------------------------------------------------------------------------------------

MIXED_STATEMENT = Problem(
    codes.MIXED_STATEMENT,
    "this statement computes and moves data",
    "store into a block of a dataflow buffer, and copy from there",
    "this moves data",
)
TWO_THREADS = Problem(
    codes.BLOCK_THREADS,
    "the block of `{buffer}` is used on two threads",
    "give each thread its own end of a buffer: one reserves, stores or copies into the "
    "block and pushes it; the other waits for it",
    "one thread acquires a block and uses it",
)
TWO_ENDS = Problem(
    codes.BLOCK_THREADS,
    "`{buffer}` is {acquired} on two threads",
    "use one buffer for each of them",
    "{acquired} on {thread}",
)
PUBLISHED_AND_RESERVED = Problem(
    codes.BLOCK_THREADS,
    "`{buffer}` is published, and reserved on another thread",
    "use one buffer for what the tensor has, and another for what is computed: both may "
    "lie in the same tensor",
    "published on {thread}",
)
NO_USERS = Problem(
    codes.BLOCK_THREADS,
    "no statement uses the block of `{buffer}`",
    "use the block: copy it, store into it, or compute with it",
    "which thread acquires it is not known",
)
NO_THREAD = Problem(
    codes.BLOCK_THREADS,
    "which thread this runs on is not known: no statement uses blocks of the buffer",
    "use the buffer: reserve or wait for its blocks",
)
PIPE_ENDS = Problem(
    codes.BLOCK_THREADS,
    "sends and receives through `{net}` stand on different threads, and these use one block",
    "load into one buffer and send from it, and receive into another; a pipe whose "
    "range contains its source gives the source a block of its own",
    "this sends",
)
NEEDED_ELSEWHERE = Problem(
    codes.NEEDED_ELSEWHERE,
    "{thread} would need a value that only {other} knows",
    "hand it over through a dataflow buffer: write it into a block there, wait for the block here",
    "needed on {thread}",
)
SKIPPED_ELSEWHERE = Problem(
    codes.NEEDED_ELSEWHERE,
    "only {other} knows whether {thread} comes to this",
    "decide it by what is known before the kernels run, or put a condition around what "
    "{other} does, instead of the jump",
    "needed on {thread}",
)

# Before kernels run -------------------------------------------------------------------------------

MADE_IN_LOOP = Problem(
    codes.OUTSIDE_OPERATION,
    "dataflow buffers, pipe nets and semaphores are made once, before the kernels run",
    "make it before the loop, from tensors, constants and grid_size()",
    "this is made in a loop, or depends on the node",
)
NAME_USED_AGAIN = Problem(
    codes.WRONG_DECLARATION,
    "`{name}` stands for a buffer, net or semaphore, and later for something else",
    "give the other one a name of its own",
)

# Tensors that are written and read ----------------------------------------------------------------

SPLIT = (
    "make two operations, so that the second one reads what the first has written; or let the node "
    "that reads wait for the other one, with a pipe or a semaphore between the two statements"
)
READ_BETWEEN_NODES = Problem(
    codes.RACE,
    "race: {part} is written on node {nodes[0]} and read on node {nodes[1]}, in no order",
    SPLIT,
    "node {nodes[0]} writes it here",
)
PERHAPS_READ = Problem(
    codes.RACE,
    "race: {part} is written and read, and data decides which tiles: one node "
    "may read what another writes, in no order",
    SPLIT,
    "written here",
)
TOUCHED_WHILE_COPIED = Problem(
    codes.RACE,
    "race: {part} is copied on node {nodes[0]}, and again before that copy is waited for",
    "wait() for the first copy before the second starts",
    "copied here",
)
NOT_ON_ONE_THREAD = Problem(
    codes.RACE,
    "race: these touch the same tiles of a tensor, in no order",
    "write to another tensor than the one read, or make two operations: sends and receives "
    "through a pipe are on different threads, so these cannot be on one",
    "touched here",
)
