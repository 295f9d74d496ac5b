// RUN: ttl opt %s -p ttl-round-up-block-counts | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!two = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!three = !ttl.dfb<[1 : i64, 1 : i64], !tile, 3 : i64>
!block = tensor<1x1x!tile>

// The compute kernel holds two blocks of `a_dfb` at a time, one of `b_dfb`, and two of `c_dfb`, which
// the reader asks whether it has room.
// CHECK:      "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !ttl.dfb<{{.*}}, 4 : i64>}>
// CHECK-NEXT: "ttl.dataflow_buffer"() <{sym_name = "b_dfb", type = !ttl.dfb<{{.*}}, 2 : i64>}>
// CHECK-NEXT: "ttl.dataflow_buffer"() <{sym_name = "c_dfb", type = !ttl.dfb<{{.*}}, 3 : i64>}>
builtin.module attributes {ttl.launch_grid = [1 : i64, 1 : i64], ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !three}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "b_dfb", type = !two}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "c_dfb", type = !three}> : () -> ()
  // CHECK: func.func @compute()
  // CHECK-NEXT: %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !ttl.dfb<{{.*}}, 4 : i64>
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !three
    %b_dfb = "ttl.bind_dfb"() <{buffer = @b_dfb}> : () -> !two
    %c_dfb = "ttl.bind_dfb"() <{buffer = @c_dfb}> : () -> !three
    %start = arith.constant 0 : index
    %end = arith.constant 8 : index
    %step = arith.constant 1 : index
    scf.for %i = %start to %end step %step {
      %a0 = "ttl.dfb_wait"(%a_dfb) : (!three) -> !block
      %a1 = "ttl.dfb_wait"(%a_dfb) : (!three) -> !block
      %b0 = "ttl.dfb_wait"(%b_dfb) : (!two) -> !block
      %c0 = "ttl.dfb_wait"(%c_dfb) : (!three) -> !block
      %c1 = "ttl.dfb_wait"(%c_dfb) : (!three) -> !block
      %sum = "ttl.add"(%a0, %a1) : (!block, !block) -> !block
      %more = "ttl.add"(%b0, %c1) : (!block, !block) -> !block
      "ttl.dfb_pop"(%a_dfb) : (!three) -> ()
      "ttl.dfb_pop"(%a_dfb) : (!three) -> ()
      "ttl.dfb_pop"(%b_dfb) : (!two) -> ()
      "ttl.dfb_pop"(%c_dfb) : (!three) -> ()
      "ttl.dfb_pop"(%c_dfb) : (!three) -> ()
    }
    func.return
  }
  // CHECK: func.func @read()
  // CHECK-NEXT: %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !ttl.dfb<{{.*}}, 4 : i64>
  func.func @read() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !three
    %c_dfb = "ttl.bind_dfb"() <{buffer = @c_dfb}> : () -> !three
    %room = "ttl.dfb_can_acquire"(%c_dfb) : (!three) -> i1
    func.return
  }
}
