"""The codes 1xxx of the catalogue: use of the language."""

from __future__ import annotations

from .code_table import code as _code
from .diagnostic import Blame, ChipEffect

OUTSIDE_OPERATION = _code(
    "TTL1001",
    "outside-operation",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """Kernels, dataflow buffers, grid_size() and node() belong to an operation: they work inside
    the body of a function decorated with @ttl.operation, while that operation is being called.""",
)
WRONG_KERNEL_KIND = _code(
    "TTL1002",
    "wrong-kernel-kind",
    Blame.USER,
    ChipEffect.REFUSED,
    """Compute kernels calculate with blocks and store them; data movement kernels copy between
    tensors and blocks. Each call is allowed in one kind of kernel only.""",
)
WRONG_ARGUMENT = _code(
    "TTL1003",
    "wrong-argument",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """A call of the language was given an argument it cannot use. The message says which values
    are allowed. Some mistakes have codes of their own: blocks that are indexed (TTL1041) or used
    like numbers and lists (TTL1042), decorators and declarations (TTL1043), sizes of dataflow
    buffers (TTL1044), calls of ttnn (TTL1045), files (TTL6019) and options (TTL6021) of
    commands.""",
)
SIGNPOST_WITHOUT_WITH = _code(
    "TTL1040",
    "signpost-without-with",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """ttl.signpost() measures the statements of a `with`, of which it is the head. By itself it has
    no statements to measure.""",
)
BLOCK_INDEXED = _code(
    "TTL1041",
    "block-indexed",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """A block is computed with, copied and stored as a whole: an index selects nothing of it, nor
    of a slice of a tensor. Tensors have slices, so copy the part that is needed into a block of its
    shape. Neighbors of a block are other slices of the tensor, in blocks of their own. Single
    elements are read and written by ttl.raw_element_read() and ttl.raw_element_write(), in data
    movement kernels.""",
)
BLOCK_IN_PYTHON = _code(
    "TTL1042",
    "block-in-python",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """A block is neither a number, a truth value nor a list to Python: its elements exist on the
    chip only. `if`, `for`, int(), max(), math.exp() and functions of numpy cannot use it, nor can
    operators that the language does not define for blocks. Write a block expression with operators
    and ttl.math.""",
)
WRONG_DECLARATION = _code(
    "TTL1043",
    "wrong-declaration",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """An operation or a kernel is declared in a form that it does not have. Decorators have
    parentheses. Kernels are functions without parameters, operations are functions and no methods,
    and neither returns a value.""",
)
BUFFER_SIZES = _code(
    "TTL1044",
    "buffer-sizes",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """A dataflow buffer has blocks of one `shape`, one or more positive integers that count tiles,
    or elements if its tensor is row-major. `block_count` is how many blocks it holds, at least
    one.""",
)
TTNN_ARGUMENT = _code(
    "TTL1045",
    "ttnn-argument",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """A function of ttnn was given an argument it cannot use. The message says which values are
    allowed.""",
)
UNKNOWN_NAME = _code(
    "TTL1004",
    "unknown-name",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """The name does not exist in the language. The message lists the nearest names that do.""",
)
NOT_A_TENSOR = _code(
    "TTL1005",
    "not-a-tensor",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """Operations take ttnn tensors, and as constants numbers, strings, None, and tuples, lists,
    dicts and dataclasses of these. An array of numpy or torch is neither.""",
)
KERNEL_COUNT = _code(
    "TTL1006",
    "kernel-count",
    Blame.USER,
    ChipEffect.REFUSED,
    """A node runs at most one compute kernel and two data movement kernels: it has one compute
    engine and two data movement processors.""",
)

NODES_DIFFER = _code(
    "TTL1007",
    "nodes-differ",
    Blame.USER,
    ChipEffect.NOT_RUN,
    """The body of an operation that asks for ttl.node() is run for every node. The values that
    kernels capture may differ between nodes; kernels, dataflow buffers, pipe nets and semaphores
    must be the same.""",
)
NODE_OUTSIDE_GRID = _code(
    "TTL1008",
    "node-outside-grid",
    Blame.USER,
    ChipEffect.HANG,
    """Both ends of a pipe and the nodes of a remote semaphore lie in the grid of the operation.
    A coordinate with fewer entries than the grid counts all the dimensions that are left in its
    last entry, the last of them fastest.""",
)

UNUSABLE_TENSOR = _code(
    "TTL1015",
    "unusable-tensor",
    Blame.USER,
    ChipEffect.REFUSED,
    """The tensors of one call lie on one open device or on one mesh, are not empty, and have one or
    more dimensions.""",
)
CAPTURED_WRITTEN = _code(
    "TTL1016",
    "captured-written",
    Blame.USER,
    ChipEffect.REFUSED,
    """A kernel may read the lists, dicts and objects around it, and not write them: on the chip a
    kernel has constants, not shared Python objects. The simulator lets it, which helps when looking
    for a mistake, and warns.""",
    milder=ChipEffect.SIMULATED,
)

OLD_NAMES = _code(
    "TTL1018",
    "old-names",
    Blame.USER,
    ChipEffect.ACCEPTED,
    """The program is written for an earlier version of the specification. It runs as it is; the
    note shows, once for each name, what is written now and which version changed it.""",
)

HOST_TENSOR = _code(
    "TTL1020",
    "host-tensor",
    Blame.USER,
    ChipEffect.REMARK,
    """A tensor that was made without a device lies in the memory of the host. It is computed on the
    default device, or on that of the other tensors, and holds the results afterwards; on hardware
    that copies it there and back at every call. Only TT-Lang operations do this. The functions of
    ttnn refuse host tensors, here as in the real ttnn.""",
)

# Unified operations -------------------------------------------------------------------------------

MIXED_STATEMENT = _code(
    "TTL1021",
    "mixed-statement",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """In a unified operation every statement runs on one thread: block expressions and store() on
    the compute thread, copies, waits for them, pipes, semaphores and single elements on a data
    movement thread. This statement has both. Store into a block of a dataflow buffer, and copy from
    there in a statement of its own.""",
)
BLOCK_THREADS = _code(
    "TTL1022",
    "block-threads",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """In a unified operation a block is acquired by the thread whose statements use it. Here these
    stand on two threads, or there are none. All blocks that are reserved in one dataflow buffer
    are one thread's, and so are all that are waited for. Sends and receives through a pipe stand on
    different data movement threads.""",
)
UNKNOWN_CALL = _code(
    "TTL1023",
    "unknown-call",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """In a unified operation the thread of a statement follows from what it calls. What this call
    does is not known, so no thread is: it is neither one of the language, nor of a function or
    operation whose definition is found.""",
)
MIXED_FORMS = _code(
    "TTL1024",
    "mixed-forms",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """An operation is written as kernels, or as one body whose statements get their threads by
    themselves. One function with @ttl.compute() or @ttl.datamovement() makes it a multi-kernel
    operation, all of it; statements of kernels beside it have no thread.""",
)
NEEDED_ELSEWHERE = _code(
    "TTL1025",
    "needed-elsewhere",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """A number that is read from a block is known on the thread that reads it. Threads have no
    variables in common: what another one needs goes through a dataflow buffer.""",
)
COMPOSITION = _code(
    "TTL1026",
    "composition",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """A unified operation may call others as statements; each call is expanded in place, with
    dataflow buffers and pipe nets of its own. Every parameter is given, one by one, and keeps its
    value; no operation leads back to itself. An operation that takes buffers or nets is only
    expanded, and multi-kernel operations are not.""",
)
SCALAR_ARGUMENT = _code(
    "TTL1027",
    "scalar-argument",
    Blame.USER,
    ChipEffect.REMARK,
    """Operations take tensors; pyttlang takes numbers, strings and other constants as well. Tools
    that follow the specification to the letter refuse them: there, constants are captured from
    the scope around the operation. The note is shown with --strict.""",
)
TENSOR_BACKED = _code(
    "TTL1028",
    "tensor-backed",
    Blame.USER,
    ChipEffect.REFUSED,
    """A tensor-backed dataflow buffer (ttl.make_tensor_backed_dfb) has no memory of its own: it
    lies in the node's shard of a tensor. The tensor has tiles of bfloat16 or float32 and is
    height-sharded in L1, with a shard on every node of the grid; all blocks fit into a shard, and
    the first one starts at a whole tile.""",
)
TUNING_SPACE = _code(
    "TTL1030",
    "tuning-space",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """A configuration of ttl.autotune gives values to parameters of the operation or factory under
    it, to names around that function which it uses itself, or to what @ttl.operation takes, such as
    grid and math_fidelity. All configurations of an operation have the same names, and a call does
    not give these values.""",
)
TUNING_KEY = _code(
    "TTL1031",
    "tuning-key",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """The key of ttl.autotune names arguments of the operation or factory: configurations are tried
    again when one of them has another value or, if it is a tensor, another shape or element type.
    Without a key all arguments count.""",
)
NO_CONFIGURATION = _code(
    "TTL1032",
    "no-configuration",
    Blame.USER,
    ChipEffect.NOT_RUN,
    """Every configuration of a tuned operation was left out: it does not fit into L1, has a
    deadlock, or the operation fails with it in another way. The notes tell the reasons.""",
)
UNDECLARED_KERNEL = _code(
    "TTL1033",
    "undeclared-kernel",
    Blame.USER,
    ChipEffect.UNCERTAIN,
    """A function inside an operation waits for blocks or reserves them, but it is no kernel, and
    nobody calls it: it does not run. What makes it a kernel is @ttl.compute() or
    @ttl.datamovement() above it.""",
)
