# RUN: TTLANG_INITIAL_MLIR=%t TTLANG_COMPILE_ONLY=1 ttl run %s && filecheck %s < %t
# ruff: noqa: E501

import ttnn

import ttl

DEVICE = ttnn.open_device(device_id=0)

STEPS = 3


@ttl.operation(grid=(1, 1), fp32_dest_acc_en=True)
def accumulate(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.compute()
    def compute():
        total = ttl.math.fill(0, shape=(1, 1))
        for _ in range(STEPS):
            with a_dfb.wait() as a_blk:
                total += a_blk @ a_blk
        with y_dfb.reserve() as y_blk:
            y_blk.store(total)

    @ttl.datamovement()
    def read():
        for step in range(1, 2 * STEPS, 2):
            with a_dfb.reserve() as a_blk:
                ttl.copy(a[0, step], a_blk).wait()

    @ttl.datamovement()
    def write():
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[0, 0]).wait()


accumulate(
    *(ttnn.zeros((32, 256), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE) for _ in "ay")
)

# What the operation asks for is an attribute of its compute kernel.
# CHECK:      func.func @accumulate_compute() {{.*}}fp32_dest_acc_en = true
# The loop carries the accumulator; a global of the program is a constant.
# CHECK:      %total = "ttl.fill"() <{value = 0.000000e+00 : f32}> : () -> tensor<1x1x!ttcore.tile<32x32, bf16>>
# CHECK:      [[STEPS:%[0-9]+]] = arith.constant 3 : index
# CHECK:      [[END:%total_[0-9]+]] = scf.for %i = {{%[0-9]+}} to [[STEPS]] step {{%[0-9]+}} iter_args([[SUM:%[a-z0-9_]+]] = %total)
# CHECK:      [[PRODUCT:%[0-9]+]] = "ttl.matmul"(%a_blk, %a_blk)
# CHECK-NEXT: [[NEXT:%total_[0-9]+]] = "ttl.add"([[SUM]], [[PRODUCT]])
# CHECK-NEXT: "ttl.scope_end"(%a_blk)
# CHECK-NEXT: scf.yield [[NEXT]]
# CHECK:      "ttl.store"([[END]], %y_blk)

# CHECK:      func.func @accumulate_read
# CHECK:      [[FROM:%[0-9]+]] = arith.constant 1 : index
# CHECK-NEXT: [[TO:%[0-9]+]] = arith.constant 6 : index
# CHECK-NEXT: [[BY:%[0-9]+]] = arith.constant 2 : index
# CHECK-NEXT: scf.for %step = [[FROM]] to [[TO]] step [[BY]]
