"""All codes. `ttl explain CODE` prints these texts. The Effect of a mistake on the chip decides its
severity: docs/reference/severity.md.

1xxx use of the language   2xxx types and shapes   3xxx blocks and transfers   4xxx limits
5xxx running kernels       6xxx machine and tools  7xxx compiling              8xxx IR tools
9xxx faults in pyttlang
"""

from __future__ import annotations

from . import use_of_language
from .code_table import CATALOGUE as CATALOGUE
from .code_table import code as _code
from .diagnostic import Blame, ChipEffect
from .use_of_language import *  # noqa: F403

SHAPE_MISMATCH = _code(
    "TTL2001",
    "shape-mismatch",
    Blame.USER,
    ChipEffect.WRONG_DATA,
    """Shapes are compared exactly: operands of an elementwise operator, the value and the block of
    a store, the slice and the block of a copy must agree, leading ones apart. There is no implicit
    broadcasting.""",
)
DTYPE_MISMATCH = _code(
    "TTL2002",
    "dtype-mismatch",
    Blame.USER,
    ChipEffect.WRONG_DATA,
    """Integer operands of one operator, and both ends of a copy, have the same element type. Floats
    beside each other may have different ones.""",
)
MATMUL_SHAPES = _code(
    "TTL2003",
    "matmul-shapes",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """`a @ b` needs a of shape [.., M, K] and b of shape [.., K, N] or [K, N], in tiles.""",
)
SLICE_OUT_OF_RANGE = _code(
    "TTL2004",
    "slice-out-of-range",
    Blame.USER,
    ChipEffect.WRONG_DATA,
    """A tensor slice counts tiles in the two innermost dimensions and must lie inside the tensor.
    An element that ttl.raw_element_read() or ttl.raw_element_write() names lies inside its
    block.""",
)
SHAPELESS_FILL = _code(
    "TTL2005",
    "shapeless-fill",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """A fill or a broadcast without a shape takes it from the first operand or store it meets; here
    nothing gives it one.""",
)
NO_MEANING = _code(
    "TTL2006",
    "no-meaning",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """The operation has no meaning for this element type or value: `^` works on integers, `/` and
    most functions on floats. ttl.math.typecast(x, dtype) converts.""",
)
LAYOUT_MISMATCH = _code(
    "TTL2007",
    "layout-mismatch",
    Blame.USER,
    ChipEffect.WRONG_DATA,
    """Both ends of a copy have the same layout, and only blocks of tiles can be computed with. A
    row-major block can be copied and sent; ttnn.to_layout() makes tiles of a row-major tensor
    before the operation is called.""",
)

PADDING_REDUCED = _code(
    "TTL2008",
    "padding-reduced",
    Blame.USER,
    ChipEffect.UNCERTAIN,
    """The last tiles of a tensor whose sizes are not multiples of 32 are padded. The padding is
    zero when it is loaded and unspecified afterwards; a reduction over such tiles takes it into
    account unless it is masked.""",
)
BROADCAST_LEFT_OUT = _code(
    "TTL2010",
    "broadcast-left-out",
    Blame.USER,
    ChipEffect.UNCERTAIN,
    """An operand has fewer rows or columns of data than another one, and the rest of its tiles is
    padding: the operation combines data with padding, which is zero when it is loaded. The result
    of a reduction is one column of data (dims=[-1]) or one row (dims=[-2]), and the rest of its
    tiles is zero. Where the operand has one row, ttl.math.broadcast(x, dims=[-2]) was probably
    meant, and dims=[-1] where it has one column.""",
)
TENSOR_SHAPES = _code(
    "TTL2009",
    "tensor-shapes",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """The tensors of a ttnn operation do not fit together. Their sizes count elements. Counted from
    the last, the sizes of the operands of an elementwise operation are equal, or one of them is 1
    or missing; a matrix product takes [.., M, K] and [.., K, N].""",
)

BLOCK_STATE = _code(
    "TTL3001",
    "block-state",
    Blame.USER,
    ChipEffect.WRONG_DATA,
    """A block is written before it is read, read before a copy overwrites it, left alone while a
    transfer uses it, and not touched after its release. The states are: MW must be written, MR must
    be read, RW may be read or overwritten, ROR read by transfers, NAW being written by a transfer,
    OS released.""",
)
TRANSFER_REUSED = _code(
    "TTL3002",
    "transfer-reused",
    Blame.USER,
    ChipEffect.HANG,
    """A transfer through a pipe, and a group of transfers, is waited for once, by the kernel that
    started it; a transfer that was added to a group is waited for by the group.""",
)
TRANSFER_NOT_WAITED = _code(
    "TTL3003",
    "transfer-not-waited",
    Blame.USER,
    ChipEffect.WRONG_DATA,
    """A kernel ended while a transfer it started was not waited for.""",
)
BLOCK_NOT_RELEASED = _code(
    "TTL3004",
    "block-not-released",
    Blame.USER,
    ChipEffect.HARMLESS,
    """A kernel ended while it held a block: a reserved block is released by push(), a waited one
    by pop(), or either by the end of its `with`. That does no harm by itself: the next call starts
    with empty buffers. If another kernel waits for the release, that is a deadlock.""",
)
RELEASE_ORDER = _code(
    "TTL3005",
    "release-order",
    Blame.USER,
    ChipEffect.WRONG_DATA,
    """Blocks of one dataflow buffer are released in the order in which they were acquired. For
    waited blocks that nothing uses any more the order does not matter (TTL3020).""",
)
BUFFER_LEFTOVER = _code(
    "TTL3006",
    "buffer-leftover",
    Blame.USER,
    ChipEffect.HARMLESS,
    """The operation ended while blocks that were pushed to a dataflow buffer had not been popped.
    That does no harm: the next call starts with empty buffers. A block that is only sent through a
    pipe may be left like this. Elsewhere, the producer and the consumer may disagree about how many
    blocks there are.""",
)
BUFFER_ENDS = _code(
    "TTL3007",
    "buffer-ends",
    Blame.USER,
    ChipEffect.WRONG_DATA,
    """On each node exactly one kernel reserves blocks of a dataflow buffer and exactly one waits
    for them. A block is used by the kernel that acquired it, and by no other.""",
)

PIPE_ROLE = _code(
    "TTL3008",
    "pipe-role",
    Blame.USER,
    ChipEffect.HANG,
    """The pipe given to a function of PipeNet.if_src() or if_dst() is used while the function runs,
    in the role it has there: in if_src() it is the destination of a copy, in if_dst() the source. A
    ttl.Pipe itself may stand in any copy, but only the node where it starts sends through it, and
    only those where it ends receive.""",
)

SUPPLIED = _code(
    "TTL3010",
    "supplied",
    Blame.USER,
    ChipEffect.ACCEPTED,
    """A program may leave out releases and waits. A block is released after the statement in which
    it is used last, in the body that acquires it: aliases, later iterations of a loop, branches,
    helpers and callbacks count. A transfer is waited for before the first statement that needs it
    done, at the latest where its block is released; a ttl.copy(...) that nobody keeps at once. A
    path that does not release a block itself gets the release. The note shows where.""",
)
LEFT_OUT = _code(
    "TTL3011",
    "left-out",
    Blame.USER,
    ChipEffect.ASKED,
    """With --strict (TTL_STRICT=1) every release and wait is written in the program. Without it, it
    is supplied; `ttl explain TTL3010` says where.""",
)

OUTPUT_NOT_COVERED = _code(
    "TTL3013",
    "output-not-covered",
    Blame.USER,
    ChipEffect.UNCERTAIN,
    """An operation that writes a tensor and does not read it makes all of it: tiles that no node
    writes keep what they had. Often the grid does not divide the tensor and its tail is left.""",
)

PIPE_UNUSED = _code(
    "TTL3015",
    "pipe-unused",
    Blame.USER,
    ChipEffect.HARMLESS,
    """A pipe of a net is declared and nothing is sent through it.""",
)
POPPED_UNREAD = _code(
    "TTL3016",
    "popped-unread",
    Blame.USER,
    ChipEffect.HARMLESS,
    """A block was waited for and popped, and nothing read it. That does no harm: nodes without work
    and values that one path does not need look like this. Elsewhere, a read may have been
    forgotten.""",
)
TRANSFER_WAITED_AGAIN = _code(
    "TTL3017",
    "transfer-waited-again",
    Blame.USER,
    ChipEffect.HARMLESS,
    """A transfer between a tensor and a block, or between blocks of one node, was waited for a
    second time. That does no harm: there is nothing left to wait for. Another transfer may have
    been meant.""",
)
SOURCE_LEFT_OUT = _code(
    "TTL3018",
    "source-left-out",
    Blame.USER,
    ChipEffect.ACCEPTED,
    """The range of a multicast contains its source, which sends a block and then receives into the
    same one. It has the data already: the send waits for the other nodes only, and the receive of
    the source changes nothing. What stands between the two does not matter. With any other block
    the source would wait for its own receive, which comes after the send: a deadlock.""",
)
OVERWRITTEN_UNREAD = _code(
    "TTL3019",
    "overwritten-unread",
    Blame.USER,
    ChipEffect.HARMLESS,
    """A value was stored into a block over another that nothing had read. That does no harm: the
    last one counts. A read of the first, or another block for it, may have been forgotten.""",
)
POPPED_FOR_OLDER = _code(
    "TTL3020",
    "popped-for-older",
    Blame.USER,
    ChipEffect.HARMLESS,
    """A block was popped while an older one of its dataflow buffer was held. The chip pops the
    oldest: that one is gone from here on, and when it is popped itself, the younger goes. That does
    no harm if the older block is not used any more.""",
)
PUBLISHED = _code(
    "TTL3021",
    "published",
    Blame.USER,
    ChipEffect.HANG,
    """publish() makes the blocks of a tensor-backed dataflow buffer readable, all of them, as the
    tensor has them: nothing is copied. It is called once in a launch, by a data movement kernel. A
    second call would wait until every block is popped. A buffer with memory of its own has nothing
    to publish: it is filled by reserve(), a copy or a store, and push().""",
)

PRINTED_UNSET = _code(
    "TTL3025",
    "printed-unset",
    Blame.USER,
    ChipEffect.HARMLESS,
    """print() shows a block that was reserved and holds no data yet, or whose copy has not been
    waited for. What is in its memory means nothing: the word "unset" stands for its values.""",
)

L1_BUDGET = _code(
    "TTL4001",
    "l1-budget",
    Blame.USER,
    ChipEffect.REFUSED,
    """The dataflow buffers of an operation, and what one core holds of its tensors in L1, must fit
    in the L1 memory of a node.""",
)
TOO_MANY_BUFFERS = _code(
    "TTL4002",
    "too-many-buffers",
    Blame.USER,
    ChipEffect.REFUSED,
    """A node has a fixed number of hardware circular buffers, one for each dataflow buffer.""",
)
GRID_TOO_LARGE = _code(
    "TTL4003",
    "grid-too-large",
    Blame.USER,
    ChipEffect.REFUSED,
    """The grid of an operation must fit in the compute grid of the device, and the L1 of its nodes
    in the memory of the machine that runs compiled kernels. `--target` chooses a chip with another
    grid, `--grid` simulates a device of any size.""",
)

TOO_MANY_SEMAPHORES = _code(
    "TTL4004",
    "too-many-semaphores",
    Blame.USER,
    ChipEffect.REFUSED,
    """A node has a fixed number of hardware semaphores.""",
)

DEADLOCK = _code(
    "TTL5001",
    "deadlock",
    Blame.USER,
    ChipEffect.HANG,
    """No kernel can go on: each waits for something that only another waiting kernel could do.
    The labels show what each kernel waits for and where. A `wait` needs somebody to push, a
    `reserve` needs somebody to pop. A send through a pipe needs every receiver to post its block
    first, a receive needs the send; a semaphore needs somebody to change it. Kernels that come to
    their ends in some orders only, because a value of a semaphore may be passed over, are stuck in
    the others. A block that comes out of a pipe is there on the receivers only: other nodes must
    not wait for it. A semaphore whose value only grows, and that is waited for by wait_ge(), does
    not depend on the order.""",
)
KERNEL_EXCEPTION = _code(
    "TTL5002",
    "kernel-exception",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """Python code in a kernel raised an exception. The label is the innermost line of your
    program.""",
)
EXECUTOR_FAULT = _code(
    "TTL5003",
    "executor-fault",
    Blame.USER,
    ChipEffect.REFUSED,
    """A compiled kernel used the chip's interface in a way the chip does not allow.""",
)

SPINNING = _code(
    "TTL5004",
    "spinning",
    Blame.USER,
    ChipEffect.HANG,
    """A kernel went on for a long time without reaching a point where other kernels could run.
    Such a loop never ends: what it waits for can only be done by another kernel.""",
)

RACE = _code(
    "TTL5005",
    "race",
    Blame.USER,
    ChipEffect.RACE,
    """Two kernels, or two transfers of one, touch the same tile of a tensor, at least one writes
    it, and nothing makes one wait for the other: the result depends on who is faster. Two nodes
    that write the same bytes, as nodes do that share a piece of work, do no harm, which is a
    warning. So it is before the run, when the bytes are not known. A dataflow buffer orders the
    kernels of a node; a pipe or a semaphore orders nodes. A wait for a semaphore that is over after
    any two of four increments orders none of the four. What pipes, semaphores and buffers order
    is followed with --strict and --seed, and in programs with pipes or semaphores that may read
    what they write; in others, nodes that use neither are compared. A semaphore that one kernel
    sets while another one changes it is a race too, in every run. The statements of a unified
    operation that touch one tile happen in the order of the text; where nodes read what others
    write and nothing can order them, the error comes before anything runs.""",
    milder=ChipEffect.UNCERTAIN,
)

NOT_PROVEN = _code(
    "TTL5006",
    "not-proven",
    Blame.UNDEFINED,
    ChipEffect.REMARK,
    """`ttl check` follows every kernel on every node without data. Here it could not follow them to
    the end, or the end depends on which kernel comes first at a semaphore, so that nothing is
    proven, neither that the operation ends nor that it does not. Or a node reads a tile that
    another writes, and the check cannot tell whether pipes and semaphores order them: in loops,
    say, where one touches the tile in some rounds. `ttl run --strict` can.""",
)

SCHEDULE_DEPENDENT = _code(
    "TTL5008",
    "schedule-dependent",
    Blame.USER,
    ChipEffect.RACE,
    """`ttl explore` ran the program under several schedules and got different results. On the chip
    the result depends on which kernel is faster. The seed shows one such schedule.""",
)

DEVICE_HANG = _code(
    "TTL5009",
    "device-hang",
    Blame.USER,
    ChipEffect.HANG,
    """Kernels on a device did not end within the limit (--device-timeout, TTL_DEVICE_TIMEOUT). The
    notes say where they stood, as far as the watcher's log tells: each processor shows the last
    waypoint that it passed. The device is reset; the process cannot use it any more.""",
)
RECEIVER_NOT_READY = _code(
    "TTL5010",
    "receiver-not-ready",
    Blame.USER,
    ChipEffect.RACE,
    """A multicast by dma() writes the same slot of a circular buffer on all its receivers. A core
    that has not reserved that slot may still be using it. Receivers reserve() and signal it
    by a semaphore, for which the sender waits.""",
)

NO_COMPILER = _code(
    "TTL6001",
    "no-cxx-compiler",
    Blame.USER,
    ChipEffect.NOT_RUN,
    """Running compiled kernels on this machine needs a C++ compiler. None was found, or the system
    cannot start it.""",
)
COMPILER_FAILED = _code(
    "TTL6002",
    "cxx-compiler-failed",
    Blame.INTERNAL,
    ChipEffect.NOT_RUN,
    """The machine's C++ compiler rejected a generated kernel or the runtime.""",
)
FILE_NOT_USABLE = _code(
    "TTL6003",
    "file-not-usable",
    Blame.USER,
    ChipEffect.NOT_RUN,
    """A file named on the command line does not exist or cannot be read or written.""",
)
NOT_AN_ARTIFACT = _code(
    "TTL6004",
    "not-an-artifact",
    Blame.USER,
    ChipEffect.NOT_RUN,
    """A folder or a file that should hold a compiled operation holds something else, or one that
    another version of pyttlang has written.""",
)
DEVICE_REFUSED = _code(
    "TTL6005",
    "device-refused",
    Blame.USER,
    ChipEffect.REFUSED,
    """The program was passed to the device through `ttnn.generic_op`, and ttnn refused it. The
    message is ttnn's own.""",
)
INCLUDE_REFUSED = _code(
    "TTL6006",
    "include-refused",
    Blame.USER,
    ChipEffect.NOT_RUN,
    """A kernel of a folder that is replayed includes a file by an absolute path, by a path that
    leads upward, or by a macro. What is replayed may come from anywhere: it includes the
    headers of the device API by their names, and no other files by their paths.""",
)

PACKAGE_MISSING = _code(
    "TTL6007",
    "package-missing",
    Blame.USER,
    ChipEffect.NOT_RUN,
    """A command needs a package that is installed on demand. The help names the extra of
    pyttlang that brings it.""",
)
NO_TTNN = _code(
    "TTL6010",
    "no-ttnn",
    Blame.USER,
    ChipEffect.NOT_RUN,
    """A run on a device goes through Tenstorrent's own ttnn, which is not installed. What is
    imported as ttnn without it is the stand-in of pyttlang, which knows no devices.
    `ttl doctor` shows what is there and what is missing.""",
)
TTNN_VERSION = _code(
    "TTL6011",
    "ttnn-version",
    Blame.USER,
    ChipEffect.NOT_RUN,
    """Generated kernels use the device API of ttnn 0.81, and its descriptors. Older versions have
    other names for both. docs/howto/device.md lists the versions that are known to work.""",
)
NO_DEVICE = _code(
    "TTL6012",
    "no-device",
    Blame.USER,
    ChipEffect.NOT_RUN,
    """ttnn is installed, but this machine has no card that the kernel driver shows, and no
    simulated chip is named.""",
)
NO_DEVICE_EVENTS = _code(
    "TTL6013",
    "no-device-events",
    Blame.USER,
    ChipEffect.REMARK,
    """The kernels and signposts of a run on a device are read from the log of the device profiler.
    It needs a tt-metal that was built with it, and does not go together with prints and the
    watcher. Without it a trace has the calls of operations and, with --results, what is in their
    tensors.""",
)
KERNEL_REJECTED = _code(
    "TTL6015",
    "kernel-rejected",
    Blame.USER,
    ChipEffect.REFUSED,
    """The C++ compiler rejected a kernel that was passed to `ttnn.generic_op`. The executor has the
    device API of ttnn 0.81; the notes are what the compiler printed, with the lines of the
    kernel.""",
)

ISOLATION_PARTIAL = _code(
    "TTL6016",
    "isolation-partial",
    Blame.UNSUPPORTED,
    ChipEffect.UNCERTAIN,
    """With --isolate kernels run in a process of their own, with limits on memory and time. Here
    that process could not be kept from everything else: files are closed to it by Landlock, a part
    of Linux, through the package landlockpy; sockets of this machine, the network and other
    processes by a filter of system calls (seccomp), on x86-64 and aarch64. `-W error=TTL6016` makes
    this an error.""",
)
CACHE_NOT_USED = _code(
    "TTL6017",
    "cache-not-used",
    Blame.USER,
    ChipEffect.REMARK,
    """The cache folder holds code that later processes run: compiled kernels and bytecode. It is
    used only if it belongs to you or to root, and if neither its group nor others may write to it.
    Otherwise somebody else could put code there. The program runs without the cache: the process
    compiles into a temporary folder, which goes when it ends. The same happens where the folder
    cannot be made. The help is the command that changes this.""",
)
OLD_VARIABLE = _code(
    "TTL6018",
    "old-variable",
    Blame.USER,
    ChipEffect.REMARK,
    """A variable of the environment is set by the name that it had in an earlier version. It still
    works; the present name wins where both are set.""",
)
WRONG_FILE = _code(
    "TTL6019",
    "wrong-file",
    Blame.USER,
    ChipEffect.NOT_RUN,
    """A command was given a file that can be read, and that it cannot use: a damaged trace or
    archive, costs or kernels of another chip, a program without anything that the command works
    on.""",
)
NOT_A_FLATBUFFER = _code(
    "TTL6020",
    "not-a-flatbuffer",
    Blame.USER,
    ChipEffect.NOT_RUN,
    """A file that should hold a program of ttnn calls (.ttnn) is cut off or damaged, was written
    for another version, or asks for something that this runtime does not have. It is found while
    the file is loaded: nothing of it has run.""",
)

WRONG_OPTION = _code(
    "TTL6021",
    "wrong-option",
    Blame.USER,
    ChipEffect.NOT_RUN,
    """An option of a command, a compiler option or a variable of the environment has a value that
    it cannot have, or does not go together with what it is given for. The message says which values
    are allowed.""",
)
NO_CLUSTER = _code(
    "TTL6030",
    "no-cluster",
    Blame.USER,
    ChipEffect.NOT_RUN,
    """`--scheduler` names a scheduler of Dask that the trials are sent to. Dask is not installed,
    the scheduler cannot be reached, it has no workers, a worker has another version of pyttlang, or
    the scheduler was lost during the sweep. What was finished is kept: the same command goes on
    there.""",
)

NOT_COMPILED_YET = _code(
    "TTL7001",
    "not-compiled-yet",
    Blame.NOT_YET,
    ChipEffect.NOT_RUN,
    """The simulator runs this; the compiler does not translate it yet.""",
)
NO_SOURCE = _code(
    "TTL7002",
    "no-source",
    Blame.USER,
    ChipEffect.NOT_RUN,
    """The compiler reads the source of kernel functions and needs it in a file.""",
)
NOT_IN_KERNELS = _code(
    "TTL7003",
    "not-in-kernels",
    Blame.USER,
    ChipEffect.REFUSED,
    """Kernels are a subset of Python; this construct has no meaning on the chip.""",
)

MULTI_DEVICE_GRID = _code(
    "TTL7004",
    "multi-device-grid",
    Blame.UNSUPPORTED,
    ChipEffect.NOT_RUN,
    """Entries of a grid after the second are devices. The simulator runs such grids; compiled
    kernels would need traffic between chips. Run the operation once for each device on a 2-D grid
    instead (SPMD).""",
)

SEND_BEFORE_POST = _code(
    "TTL7005",
    "send-before-post",
    Blame.UNSUPPORTED,
    ChipEffect.HANG,
    """In a compiled kernel ttl.copy(block, pipe) waits until every receiver has posted, and does
    not go on to a post that comes after it. The simulator waits later, in the wait() of the
    transfer. Post the receive before the send, or send and receive in two kernels.""",
)

NO_INTEGERS = _code(
    "TTL7007",
    "no-integers",
    Blame.UNSUPPORTED,
    ChipEffect.WRONG_DATA,
    """The matrix unit of the chip has floats only, and no other unit multiplies matrices: a product
    of integer blocks comes out wrong there. Convert the blocks to floats.""",
)

SOFT_FLOAT = _code(
    "TTL7008",
    "soft-float",
    Blame.USER,
    ChipEffect.REMARK,
    """The processors that move data have no unit for floats: compiled arithmetic on what
    ttl.raw_element_read() returns is right, and slow, because it is done in software. Comparisons,
    min() and max() cost little.""",
)

GRAPH_NOT_LOWERED = _code(
    "TTL7020",
    "graph-not-lowered",
    Blame.UNSUPPORTED,
    ChipEffect.NOT_RUN,
    """An operation of a graph of tensors (StableHLO) has no counterpart among the ttnn operations
    that flatbuffers can hold, or not for these types and shapes. Graphs are lowered for one device:
    annotations that divide tensors among several (sdy.mesh, sdy.sharding, mhlo.sharding) are
    refused.""",
)
WRONG_TT_LANG_CALL = _code(
    "TTL7021",
    "wrong-tt-lang-call",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """A `stablehlo.custom_call @tt.tt_lang_op` needs the frontend attributes kernel_id, version_tag
    and arg_roles. Its operands are those with the role `in`, and then all or none of those with the
    role `out`; it has one result for each `out`.""",
)
RESOLVE_FAILED = _code(
    "TTL7022",
    "resolve-failed",
    Blame.USER,
    ChipEffect.NOT_RUN,
    """The kernels of a TT-Lang operation in a graph are asked for from a Python function, by
    default `resolve_operation` of `tt_torch.tt_lang`. It could not be imported, raised an error, or
    gave nothing.""",
)
WRONG_KERNEL_ARTIFACT = _code(
    "TTL7023",
    "wrong-kernel-artifact",
    Blame.USER,
    ChipEffect.NOT_RUN,
    """The artifact of a TT-Lang operation in a graph is no JSON, was written for another version,
    or its parts do not fit together.""",
)

ATEN_OPERATION = _code(
    "TTL7030",
    "aten-operation",
    Blame.UNSUPPORTED,
    ChipEffect.NOT_RUN,
    """A PyTorch model is lowered to StableHLO operation by operation. This one has no lowering, or
    not for this element type or for sizes that change from call to call. What common models need
    has one: elementwise operations, matrix products, convolutions, pooling, reductions, changes of
    shape, and elements at computed places. What is done one by one, sorting or writing at indices,
    is lowered up to 128 elements. What is exported has no random numbers: dropout there is in eval
    mode.""",
)

IR_SYNTAX = _code(
    "TTL8001",
    "ir-syntax",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """The IR text given to `ttl opt` cannot be parsed or does not verify.""",
)
UNKNOWN_PASS = _code(
    "TTL8002",
    "unknown-pass",
    Blame.USER,
    ChipEffect.NO_MEANING,
    """The pipeline names a pass or an option that does not exist.""",
)

PASS_FAILED = _code(
    "TTL8003",
    "pass-failed",
    Blame.UNDEFINED,
    ChipEffect.NOT_RUN,
    """A pass met IR it was not made for. Passes expect what the passes before them in the pipeline
    produce, and the attributes that the frontend puts on modules and functions.""",
)

# Errors of the compiler that do not concern a run on the simulator.
NOT_COMPILED = frozenset(
    (
        MULTI_DEVICE_GRID,
        NOT_COMPILED_YET,
        NOT_IN_KERNELS,
        NO_SOURCE,
        PASS_FAILED,
        SEND_BEFORE_POST,
        use_of_language.CAPTURED_WRITTEN,
    )
)

INTERNAL = _code(
    "TTL9001",
    "internal",
    Blame.INTERNAL,
    ChipEffect.NOT_RUN,
    """Something went wrong inside pyttlang. This is our fault, not yours.""",
)
