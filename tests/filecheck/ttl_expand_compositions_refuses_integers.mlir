// RUN: not ttl opt %s -p ttl-expand-compositions 2>&1 | filecheck %s

!word = !ttcore.tile<32x32, si32>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !word, 2 : i64>
!words = tensor<1x1x!word>

// CHECK: error[TTL7007]: `@` on blocks of int32: the matrix unit has floats only
// CHECK: help: convert the operands: ttl.math.typecast(x, ttnn.bfloat16)
builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "n_dfb", type = !dfb}> : () -> ()
  func.func @whole() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %n_dfb = "ttl.bind_dfb"() <{buffer = @n_dfb}> : () -> !dfb
    %n = "ttl.dfb_wait"(%n_dfb) : (!dfb) -> !words
    %product = "ttl.matmul"(%n, %n) : (!words, !words) -> !words
    func.return
  }
}
