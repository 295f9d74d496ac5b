// RUN: ttl opt %s -p ttl-set-compute-kernel-config | filecheck %s
// RUN: ttl opt %s -p 'ttl-set-compute-kernel-config{fp32_dest_acc_en=true dst_full_sync_en=true}' | filecheck %s --check-prefix=OPTIONS

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[2 : i64, 2 : i64], !tile, 2 : i64>
!block = tensor<2x2x!tile>
!dst = !ttl.dst<!block>

!wide_tile = !ttcore.tile<32x32, f32>
!wide_dfb = !ttl.dfb<[2 : i64, 2 : i64], !wide_tile, 2 : i64>
!wide_block = tensor<2x2x!wide_tile>
!wide_dst = !ttl.dst<!wide_block>

!small_tile = !ttcore.tile<32x32, !ttcore.block_float<8 : i64>>
!small_dfb = !ttl.dfb<[2 : i64, 2 : i64], !small_tile, 2 : i64>
!small_block = tensor<2x2x!small_tile>
!small_dst = !ttl.dst<!small_block>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "narrow_dfb", type = !dfb}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "wide_dfb", type = !wide_dfb}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "unread_dfb", type = !wide_dfb}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "small_dfb", type = !small_dfb}> : () -> ()
  // 16 bits are enough, and four registers fit in half of them.
  func.func @narrow() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %narrow_dfb = "ttl.bind_dfb"() <{buffer = @narrow_dfb}> : () -> !dfb
    %blk = "ttl.dfb_wait"(%narrow_dfb) : (!dfb) -> !block
    "ttl.compute"() ({
      %x = "ttl.tile_copy"(%blk) : (!block) -> !dst
      "ttl.tile_store"(%x, %blk) : (!dst, !block) -> ()
    }) : () -> ()
    func.return
  }
  // A product asks for 32 bits.
  func.func @product() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %narrow_dfb = "ttl.bind_dfb"() <{buffer = @narrow_dfb}> : () -> !dfb
    %blk = "ttl.dfb_wait"(%narrow_dfb) : (!dfb) -> !block
    "ttl.compute"() ({
      %zero = "ttl.tile_fill"() <{value = 0.0 : f32}> : () -> !dst
      %p = "ttl.tile_matmul"(%blk, %blk, %zero) : (!block, !block, !dst) -> !dst
      "ttl.tile_store"(%p, %blk) : (!dst, !block) -> ()
    }) : () -> ()
    func.return
  }
  // A reduction does too.
  func.func @reduction() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %narrow_dfb = "ttl.bind_dfb"() <{buffer = @narrow_dfb}> : () -> !dfb
    %blk = "ttl.dfb_wait"(%narrow_dfb) : (!dfb) -> !block
    "ttl.compute"() ({
      %m = "ttl.tile_reduce_max"(%blk, %blk) <{parameters = {dims = [-1 : i64]}}> : (!block, !block) -> !dst
      "ttl.tile_store"(%m, %blk) : (!dst, !block) -> ()
    }) : () -> ()
    func.return
  }
  // f32 buffers ask for 32 bits and are unpacked to DST. A loop works on whole blocks: its eight
  // registers ask for full sync.
  func.func @wide() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %wide_dfb = "ttl.bind_dfb"() <{buffer = @wide_dfb}> : () -> !wide_dfb
    %blk = "ttl.dfb_wait"(%wide_dfb) : (!wide_dfb) -> !wide_block
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    "ttl.compute"() ({
      %x = "ttl.tile_copy"(%blk) : (!wide_block) -> !wide_dst
      %end = scf.for %i = %zero to %one step %one iter_args(%sum = %x) -> (!wide_dst) {
        %z = "ttl.tile_copy"(%blk) : (!wide_block) -> !wide_dst
        %s = "ttl.tile_add"(%sum, %z) : (!wide_dst, !wide_dst) -> !wide_dst
        scf.yield %s : !wide_dst
      }
      "ttl.tile_store"(%end, %blk) : (!wide_dst, !wide_block) -> ()
    }) : () -> ()
    func.return
  }
  // What the user chose stays.
  func.func @chosen() attributes {ttkernel.thread = #ttkernel.thread<compute>, fp32_dest_acc_en = true, dst_full_sync_en = true, math_fidelity = "LoFi"} {
    func.return
  }
  // The fewest phases in which nothing of block floats is lost.
  func.func @block_floats() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %small_dfb = "ttl.bind_dfb"() <{buffer = @small_dfb}> : () -> !small_dfb
    %blk = "ttl.dfb_wait"(%small_dfb) : (!small_dfb) -> !small_block
    "ttl.compute"() ({
      %p = "ttl.tile_mul"(%blk, %blk) : (!small_block, !small_block) -> !small_dst
      "ttl.tile_store"(%p, %blk) : (!small_dst, !small_block) -> ()
    }) : () -> ()
    func.return
  }
  // Elements of bfloat16 one by one are exact: all four.
  func.func @elements() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %narrow_dfb = "ttl.bind_dfb"() <{buffer = @narrow_dfb}> : () -> !dfb
    %blk = "ttl.dfb_wait"(%narrow_dfb) : (!dfb) -> !block
    "ttl.compute"() ({
      %p = "ttl.tile_mul"(%blk, %blk) : (!block, !block) -> !dst
      "ttl.tile_store"(%p, %blk) : (!dst, !block) -> ()
    }) : () -> ()
    func.return
  }
  // So is a sum, which is a product with its scaler, also beside a matmul.
  func.func @sums() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %narrow_dfb = "ttl.bind_dfb"() <{buffer = @narrow_dfb}> : () -> !dfb
    %blk = "ttl.dfb_wait"(%narrow_dfb) : (!dfb) -> !block
    "ttl.compute"() ({
      %zero = "ttl.tile_fill"() <{value = 0.0 : f32}> : () -> !dst
      %p = "ttl.tile_matmul"(%blk, %blk, %zero) : (!block, !block, !dst) -> !dst
      "ttl.tile_store"(%p, %blk) : (!dst, !block) -> ()
      %s = "ttl.tile_reduce_sum"(%blk, %blk) <{parameters = {dims = [-1 : i64]}}> : (!block, !block) -> !dst
      "ttl.tile_store"(%s, %blk) : (!dst, !block) -> ()
    }) : () -> ()
    func.return
  }
  func.func @read() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"} {
    func.return
  }
}

// CHECK:      sym_name = "narrow_dfb", type = {{.*}}, 2 : i64>}>
// CHECK-NEXT: sym_name = "wide_dfb", type = {{.*}}, 2 : i64>, unpack_to_dest_fp32 = true}>
// CHECK-NEXT: sym_name = "unread_dfb", type = {{.*}}, 2 : i64>}>
// CHECK:      func.func @narrow() {{.*}}fp32_dest_acc_en = false, dst_full_sync_en = false
// CHECK:      func.func @product() {{.*}}fp32_dest_acc_en = true, dst_full_sync_en = false, math_fidelity = "HiFi3"
// CHECK:      func.func @reduction() {{.*}}fp32_dest_acc_en = true
// CHECK:      func.func @wide() {{.*}}fp32_dest_acc_en = true, dst_full_sync_en = true
// CHECK:      func.func @chosen() {{.*}}fp32_dest_acc_en = true, dst_full_sync_en = true, math_fidelity = "LoFi"
// CHECK:      func.func @block_floats() {{.*}}math_fidelity = "HiFi2"
// CHECK:      func.func @elements() {{.*}}math_fidelity = "HiFi4"
// CHECK:      func.func @sums() {{.*}}math_fidelity = "HiFi4"
// CHECK:      func.func @read() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"}

// OPTIONS:      func.func @narrow() {{.*}}fp32_dest_acc_en = true, dst_full_sync_en = true
