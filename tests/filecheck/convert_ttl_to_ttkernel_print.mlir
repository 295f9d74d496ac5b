// RUN: ttl opt %s -p convert-ttl-to-ttkernel | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  // In a compute kernel one of its three processors prints a scalar, in the line of its text.
  // CHECK-LABEL: func.func @compute
  // CHECK:       scf.for %i
  // CHECK-NEXT:  "ttkernel.dprint"(%i) <{format = "step {}\0A", processor = "MATH"}>
  // CHECK-NOT:   ttl.print
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>, ttl.crta_indices = []} {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %one step %one {
      "ttl.print"(%i) <{before = "step {}", after = "", position = 1 : i64, num_pages = 1 : i64}> : (index) -> ()
    }
    func.return
  }

  // A buffer is what its interface says, between the texts around it; there is one processor.
  // CHECK-LABEL: func.func @read
  // CHECK:       "ttkernel.dprint"() <{format = "buffer ", processor = ""}>
  // CHECK-NEXT:  "ttkernel.dprint"(%a_dfb) <{format = "rd_ptr={} wr_ptr={} wr_tile_ptr={} filled={}", processor = "", literals = ["(get_local_cb_interface(%)
  // CHECK-NEXT:  "ttkernel.dprint"() <{format = " end\0A", processor = ""}>
  func.func @read() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader", ttl.crta_indices = []} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb, index = 0 : i64}> : () -> !dfb
    "ttl.print"(%a_dfb) <{before = "buffer ", after = " end", position = 0 : i64, num_pages = 1 : i64, shows = "buffer", heading = "rd_ptr={} wr_ptr={} wr_tile_ptr={} filled={}"}> : (!dfb) -> ()
    func.return
  }
}
