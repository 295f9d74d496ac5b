# RUN: TTLANG_INITIAL_MLIR=%t TTLANG_COMPILE_ONLY=1 ttl run %s && filecheck %s < %t
# ruff: noqa: E501

import ttnn

import ttl

DEVICE = ttnn.open_device(device_id=0)


def clamp(value, most):
    if value > most:
        return most
    return value


@ttl.operation(grid=(2, 1))
def choose(a):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    column, _ = ttl.node(dims=2)
    places = (column + 1, 3)

    @ttl.datamovement()
    def read():
        here = ttl.node(dims=1)
        total = unused = 0
        for i in range(4, here, -1):
            unused += i
            if i % 2 == 0 and i > 1:
                total += clamp(i, places[0])
        while total > 3:
            total //= 2
        group = ttl.GroupTransfer()
        with ttl.signpost("load"), a_dfb.reserve() as block:
            group.add(ttl.copy(a[0, total], block))
            group.wait_all()

    @ttl.datamovement()
    def write():
        with a_dfb.wait() as block:
            ttl.copy(block, a[0, places[1] + 1 + ttl.node(dims=1)]).wait()


choose(ttnn.zeros((32, 256), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE))

# CHECK:      func.func @choose_read
# What differs between nodes is an argument, with its value on each node.
# CHECK-SAME: ttl.runtime_args = {places_0 = [1 : i64, 2 : i64]}
# CHECK:      %places = "ttl.runtime_arg"() <{index = 0 : i64, arg_name = "places_0"}> : () -> index
# CHECK:      %here = arith.addi
# A downward range counts its steps; of the variables that change the unused one is gone.
# CHECK:      [[STEPS:%[0-9]+]] = arith.divsi
# CHECK:      [[SUM:%total[_0-9]*]] = scf.for %i_step = {{%[0-9]+}} to [[STEPS]] step {{%[0-9]+}} iter_args([[OLD:%total[_0-9]*]] = {{%[0-9]+}}) -> (index) {
# CHECK:      %i = arith.addi
# CHECK:      [[BOTH:%[0-9]+]] = arith.andi {{%[0-9]+}}, {{%[0-9]+}} : i1
# CHECK:      [[NEW:%total[_0-9]*]] = scf.if [[BOTH]] -> (index) {
# The helper stands in place of its call.
# CHECK:      arith.cmpi sgt, %i, %places : index
# CHECK:      scf.yield [[OLD]] : index
# CHECK:      scf.yield [[NEW]] : index
# CHECK:      scf.while
# CHECK:      scf.condition
# CHECK:      arith.floordivsi
# CHECK:      "ttl.group"
# CHECK-NEXT: "ttl.signpost"() <{region_name = "load"}>
# CHECK:      "ttl.group_add"
# CHECK:      "ttl.group_wait"
# CHECK-NEXT: "ttl.scope_end"
# CHECK-NEXT: "ttl.signpost"() <{region_name = "load", is_end}>
# What is the same on all nodes is a constant.
# CHECK:      func.func @choose_write
# CHECK-NOT:  runtime_arg
