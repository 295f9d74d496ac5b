# RUN: TTLANG_INITIAL_MLIR=%t TTLANG_COMPILE_ONLY=1 ttl run %s && filecheck %s < %t
# ruff: noqa: E501

import ttnn

import ttl

DEVICE = ttnn.open_device(device_id=0)


@ttl.operation(grid=(2, 1))
def scale(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 2), block_count=3)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 2))

    @ttl.compute()
    def compute():
        with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
            y_blk.store(ttl.math.relu(a_blk * ttl.math.fill(-0.5)))

    @ttl.datamovement()
    def read():
        column, row = ttl.node(dims=2)
        start = column * 2
        with a_dfb.reserve() as a_blk:
            ttl.copy(a[row, start : start + 2], a_blk).wait()

    @ttl.datamovement()
    def write():
        column, row = ttl.node(dims=2)
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[row : row + 1, column * 2 : column * 2 + 2]).wait()


scale(*(ttnn.zeros((32, 128), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE) for _ in "ay"))

# CHECK:      builtin.module attributes {ttl.launch_grid = [2 : i64, 1 : i64], ttl.target_arch = "wormhole_b0"} {
# CHECK-NEXT: "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !ttl.dfb<[1 : i64, 2 : i64], !ttcore.tile<32x32, f32>, 3 : i64>}>
# CHECK-NEXT: "ttl.dataflow_buffer"() <{sym_name = "y_dfb", type = !ttl.dfb<[1 : i64, 2 : i64], {{.*}}, 2 : i64>}>
# CHECK-NEXT: func.func @scale_compute() {{.*}}ttkernel.thread = #ttkernel.thread<compute>
# CHECK:      %a_blk = "ttl.dfb_wait"(%a_dfb)
# CHECK-NEXT: %y_blk = "ttl.dfb_reserve"(%y_dfb)
# CHECK-NEXT: [[F:%[0-9]+]] = "ttl.fill"() <{value = -5.000000e-01 : f32}> : () -> tensor<1x2x
# CHECK-NEXT: [[P:%[0-9]+]] = "ttl.mul"(%a_blk, [[F]])
# CHECK-NEXT: [[R:%[0-9]+]] = "ttl.relu"([[P]])
# CHECK-NEXT: "ttl.store"([[R]], %y_blk)
# CHECK-NEXT: "ttl.scope_end"(%a_blk, %y_blk)

# CHECK:      func.func @scale_read(%a: tensor<1x4x{{.*}}>) attributes {ttl.kernel = "read", ttl.crta_indices = [0 : i64], ttl.tensor_names = ["a", "y"], ttl.base_cta_index = 2 : i64, ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"}
# CHECK:      %column = "ttl.node_index"() <{dimension = 0 : i64}>
# CHECK-NEXT: %row = "ttl.node_index"() <{dimension = 1 : i64}>
# CHECK:      %start = arith.muli %column, {{%[0-9]+}}
# CHECK:      "ttl.tensor_slice"(%a, %row, %start) : ({{.*}}) -> tensor<1x2x
# CHECK:      "ttl.wait"

# CHECK:      func.func @scale_write(%y: {{.*}}ttl.crta_indices = [1 : i64]{{.*}}ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "writer"
# CHECK:      "ttl.copy"(%y_blk, {{%[0-9]+}}) : {{.*}} -> !ttl.transfer_handle<"write">
