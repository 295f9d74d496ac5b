# RUN: TTLANG_INITIAL_MLIR=%t TTLANG_COMPILE_ONLY=1 ttl run %s 2>/dev/null && filecheck %s < %t
# ruff: noqa: F841

import ttnn

import ttl

DEVICE = ttnn.open_device(device_id=0)


@ttl.operation(grid=(1, 1))
def pass_on(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

    @ttl.datamovement()
    def read():
        for step in range(3):
            a_blk = a_dfb.reserve()
            ttl.copy(a[0, step], a_blk)

    @ttl.datamovement()
    def write():
        for step in range(2):
            a_blk = a_dfb.wait()
            transfer = ttl.copy(a_blk, y[0, step])
        last = a_dfb.wait()
        ttl.copy(last, y[0, 0]).wait()
        last.pop()


pass_on(
    *(ttnn.zeros((32, 96), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE) for _ in "ay")
)

# What is left out ends after its last use, for the passes; what is written is there already.
# CHECK:      func.func @pass_on_read
# CHECK:      %a_blk = "ttl.dfb_reserve"(%a_dfb)
# CHECK:      "ttl.copy"({{.*}}, %a_blk)
# CHECK-NEXT: "ttl.wait"(
# CHECK-NEXT: "ttl.scope_end"(%a_blk)
# CHECK:      func.func @pass_on_write
# CHECK:      %a_blk = "ttl.dfb_wait"(%a_dfb)
# CHECK:      %transfer = "ttl.copy"(%a_blk, {{.*}})
# CHECK-NEXT: "ttl.scope_end"(%transfer)
# CHECK-NEXT: "ttl.scope_end"(%a_blk)
# CHECK:      %last = "ttl.dfb_wait"(%a_dfb)
# CHECK-NOT:  ttl.scope_end
