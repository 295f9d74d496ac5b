"""Two nets over one route, used in opposite orders: each help is applied, and the program ends."""

from __future__ import annotations

from fuzz.engines import check, run, with_tail

PROGRAM = """\
import ttl


@ttl.operation(grid=(2, 1))
def operation(x, y):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
    one = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
    two = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])

    @ttl.datamovement()
    def read():
        def send(pipe):
            with x_dfb.reserve() as block:
                ttl.copy(x[0, 0], block).wait()
                ttl.copy(block, pipe).wait()
            with x_dfb.wait() as block:
                ttl.copy(block, y[0, 0]).wait()

        one.if_src(send)
        two.if_src(send)

    @ttl.datamovement()
    def write():
        def take(pipe):
            with y_dfb.reserve() as block:
                ttl.copy(pipe, block).wait()
            with y_dfb.wait() as block:
                ttl.copy(block, y[0, 1]).wait()

"""
WRONG = """\
        two.if_dst(take)
        one.if_dst(take)
"""
IN_ONE_ORDER = """\
        one.if_dst(take)
        two.if_dst(take)
"""
POSTED_FIRST = """\
        if one.is_dst():
            with y_dfb.reserve() as block, y_dfb.reserve() as other:
                posts = ttl.GroupTransfer()
                one.if_dst(lambda pipe: posts.add(ttl.copy(pipe, block)))
                two.if_dst(lambda pipe: posts.add(ttl.copy(pipe, other)))
                posts.wait_all()
            for i in range(2):
                with y_dfb.wait() as block:
                    ttl.copy(block, y[0, 1]).wait()
"""
ENDS = [("sim", None), ("sim", 1), ("host", None), ("host", 1)]


def program(received: str) -> str:
    return with_tail(PROGRAM + received, [((32, 64), "float32", -9, 9, 1)] * 2)


def test_the_helps_name_the_order_of_the_nets() -> None:
    (found,) = check(program(WRONG))[1]
    assert found.code.code == "TTL5001"
    assert found.helps == (
        "use the nets in one order: in `write`, receive through `one` before `two`",
        "or start the receive through `one` there, with a block of its own, before the wait of the "
        "one through `two`",
    )
    assert all(run(program(WRONG), *each).codes == ("TTL5001",) for each in ENDS)


def test_each_help_works() -> None:
    for received in (IN_ONE_ORDER, POSTED_FIRST):
        text = program(received)
        assert not check(text)[1]
        assert all(run(text, *each).kind == "ended" for each in ENDS)
