// RUN: ttl opt %s -p ttl-expand-compositions | filecheck %s

!tile = !ttcore.tile<32x32, f32>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>

!half = !ttcore.tile<32x32, bf16>
!half_dfb = !ttl.dfb<[1 : i64, 1 : i64], !half, 2 : i64>
!halves = tensor<1x1x!half>

!word = !ttcore.tile<32x32, si32>
!word_dfb = !ttl.dfb<[1 : i64, 1 : i64], !word, 2 : i64>
!words = tensor<1x1x!word>

builtin.module attributes {ttl.target_arch = "blackhole"} {
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !dfb}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "h_dfb", type = !half_dfb}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "n_dfb", type = !word_dfb}> : () -> ()

  // Inside a tile numbers of 32 bits are expanded in parts of 16, all others as they are.
  // CHECK-LABEL: func.func @kernel
  // CHECK-COUNT-3: "ttl.broadcast"({{.*}}) <{parameters = {dims = [-1 : i64]}}> : (tensor<1x1x!ttcore.tile<32x32, bf16>>)
  // CHECK: "ttl.broadcast"(%h)
  // CHECK-COUNT-4: "ttl.broadcast"({{.*}}) <{parameters = {dims = [-2 : i64]}}> : (tensor<1x1x!ttcore.tile<32x32, bf16>>)
  // CHECK-NOT: "ttl.broadcast"
  // CHECK: func.return
  func.func @kernel() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %h_dfb = "ttl.bind_dfb"() <{buffer = @h_dfb}> : () -> !half_dfb
    %n_dfb = "ttl.bind_dfb"() <{buffer = @n_dfb}> : () -> !word_dfb
    %a = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %h = "ttl.dfb_wait"(%h_dfb) : (!half_dfb) -> !halves
    %n = "ttl.dfb_wait"(%n_dfb) : (!word_dfb) -> !words
    %wide = "ttl.broadcast"(%a) <{parameters = {dims = [-1 : i64]}}> : (!block) -> !block
    %same = "ttl.broadcast"(%h) <{parameters = {dims = [-1 : i64]}}> : (!halves) -> !halves
    %whole = "ttl.broadcast"(%n) <{parameters = {dims = [-2 : i64]}}> : (!words) -> !words
    func.return
  }
}
