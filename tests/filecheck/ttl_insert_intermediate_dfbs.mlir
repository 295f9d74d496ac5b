// RUN: ttl opt %s -p ttl-insert-intermediate-dfbs | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !dfb}> : () -> ()

  // CHECK:      "ttl.dataflow_buffer"() <{sym_name = "e_kept", type = {{.*}}, compiler_allocated}>
  // CHECK-NOT:  "ttl.dataflow_buffer"
  // CHECK:      func.func @factor
  // CHECK:      %e_kept = "ttl.bind_dfb"() <{buffer = @e_kept}>
  // A factor is computed: it gets a buffer. What it is computed from is in one already, and what
  // is computed with the product stays in registers.
  // CHECK:      %e = "ttl.exp"(%a_blk) {kept_in = {copied = @e_kept}}
  // CHECK-NEXT: %p = "ttl.matmul"(%e, %a_blk) :
  // CHECK-NEXT: %r = "ttl.relu"(%p) :
  func.func @factor() attributes {ttkernel.thread = #ttkernel.thread<compute>, fp32_dest_acc_en = true} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %a_blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %e = "ttl.exp"(%a_blk) : (!block) -> !block
    %p = "ttl.matmul"(%e, %a_blk) : (!block, !block) -> !block
    %r = "ttl.relu"(%p) : (!block) -> !block
    func.return
  }
}
