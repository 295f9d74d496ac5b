// RUN: ttl opt %s -p ttl-round-up-block-counts | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!three = !ttl.dfb<[1 : i64, 1 : i64], !tile, 3 : i64>
!four = !ttl.dfb<[1 : i64, 1 : i64], !tile, 4 : i64>
!block = tensor<1x1x!tile>

// Two blocks of four, and one after the other of three, never go past the edge.
// CHECK:     "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !ttl.dfb<{{.*}}, 4 : i64>}>
// CHECK:     "ttl.dataflow_buffer"() <{sym_name = "b_dfb", type = !ttl.dfb<{{.*}}, 3 : i64>}>
// CHECK-NOT: {{[5-8]}} : i64>
builtin.module attributes {ttl.launch_grid = [1 : i64, 1 : i64], ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !four}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "b_dfb", type = !three}> : () -> ()
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !four
    %b_dfb = "ttl.bind_dfb"() <{buffer = @b_dfb}> : () -> !three
    %start = arith.constant 0 : index
    %end = arith.constant 9 : index
    %step = arith.constant 1 : index
    scf.for %i = %start to %end step %step {
      %a0 = "ttl.dfb_wait"(%a_dfb) : (!four) -> !block
      %a1 = "ttl.dfb_wait"(%a_dfb) : (!four) -> !block
      %sum = "ttl.add"(%a0, %a1) : (!block, !block) -> !block
      "ttl.dfb_pop"(%a_dfb) : (!four) -> ()
      "ttl.dfb_pop"(%a_dfb) : (!four) -> ()
      %b0 = "ttl.dfb_wait"(%b_dfb) : (!three) -> !block
      "ttl.dfb_pop"(%b_dfb) : (!three) -> ()
      %b1 = "ttl.dfb_wait"(%b_dfb) : (!three) -> !block
      "ttl.dfb_pop"(%b_dfb) : (!three) -> ()
    }
    func.return
  }
}
