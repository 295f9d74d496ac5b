// RUN: not ttl opt %s -p ttl-verify-pipenet-schedule 2>&1 | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 4 : i64>
!block = tensor<1x1x!tile>
!wide = !ttl.dfb<[1 : i64, 2 : i64], !tile, 2 : i64>
!wide_block = tensor<1x2x!tile>
// CHECK: error[TTL2001]: pipe (0, 0) -> (1, 0) connects a block of shape (1, 1) with a block of shape (1, 2)
// CHECK: = on node (1, 0)
// CHECK: = help: make the two dataflow buffers alike
builtin.module attributes {ttl.launch_grid = [2 : i64, 1 : i64], ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !dfb}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "b_dfb", type = !wide}> : () -> ()
  "ttl.pipe_net"() <{sym_name = "net", pipes = [array<i64: 0, 0, 1, 0, 1, 0>]}> : () -> ()
  func.func @dm() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %b_dfb = "ttl.bind_dfb"() <{buffer = @b_dfb}> : () -> !wide
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %three = arith.constant 3 : index
    "ttl.if_src"() <{net = @net}> ({
    ^bb0(%pipe : !ttl.pipe<@net, "src">):
      %blk = "ttl.dfb_reserve"(%a_dfb) : (!dfb) -> !block
      %t = "ttl.copy"(%blk, %pipe) : (!block, !ttl.pipe<@net, "src">) -> !ttl.transfer_handle<"send">
      "ttl.wait"(%t) : (!ttl.transfer_handle<"send">) -> ()
      "ttl.dfb_push"(%a_dfb) : (!dfb) -> ()
      %read = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
      "ttl.dfb_pop"(%a_dfb) : (!dfb) -> ()
      "ttl.yield"() : () -> ()
    }) : () -> ()
    "ttl.if_dst"() <{net = @net}> ({
    ^bb0(%pipe : !ttl.pipe<@net, "dst">):
      %blk = "ttl.dfb_reserve"(%b_dfb) : (!wide) -> !wide_block
      %t = "ttl.copy"(%pipe, %blk) : (!ttl.pipe<@net, "dst">, !wide_block) -> !ttl.transfer_handle<"receive">
      "ttl.wait"(%t) : (!ttl.transfer_handle<"receive">) -> ()
      "ttl.dfb_push"(%b_dfb) : (!wide) -> ()
      %read = "ttl.dfb_wait"(%b_dfb) : (!wide) -> !wide_block
      "ttl.dfb_pop"(%b_dfb) : (!wide) -> ()
      "ttl.yield"() : () -> ()
    }) : () -> ()
    func.return
  }
}
