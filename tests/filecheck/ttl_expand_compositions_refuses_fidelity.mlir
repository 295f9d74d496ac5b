// RUN: not ttl opt %s -p ttl-expand-compositions 2>&1 | filecheck %s

!word = !ttcore.tile<32x32, si32>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !word, 2 : i64>
!words = tensor<1x1x!word>

// CHECK: error[TTL7001]: {{.*}}a product of integers with less than four fidelity phases
// CHECK: help: leave math_fidelity out, or write math_fidelity="HiFi4"
builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "n_dfb", type = !dfb}> : () -> ()
  func.func @coarse() attributes {ttl.kernel_thread = "compute", math_fidelity = "LoFi"} {
    %n_dfb = "ttl.bind_dfb"() <{buffer = @n_dfb}> : () -> !dfb
    %n = "ttl.dfb_wait"(%n_dfb) : (!dfb) -> !words
    %product = "ttl.matmul"(%n, %n) : (!words, !words) -> !words
    func.return
  }
}
