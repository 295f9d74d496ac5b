// RUN: not ttl opt %s -p ttl-verify-pipenet-schedule 2>&1 | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 4 : i64>
!block = tensor<1x1x!tile>

// Node (0, 0) is a receiver of its own pipe: it sends, and waits for that, before it posts.
// CHECK: error[TTL5001]: deadlock: `dm` on 1 node waits for itself
// CHECK: = cycle: `dm` on node (0, 0) waits for node (0, 0) to post a receive on pipe (0, 0) -> (0:2, 0)
// CHECK: = help: the source has the data already: receive it into the very block that is sent, or leave the source out of the pipe's `dst`
// CHECK: = help: or post before sending
builtin.module attributes {ttl.launch_grid = [2 : i64, 1 : i64], ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !dfb}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "b_dfb", type = !dfb}> : () -> ()
  "ttl.pipe_net"() <{sym_name = "net", pipes = [array<i64: 0, 0, 0, 0, 1, 0>]}> : () -> ()
  func.func @dm() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %b_dfb = "ttl.bind_dfb"() <{buffer = @b_dfb}> : () -> !dfb
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
      %blk = "ttl.dfb_reserve"(%b_dfb) : (!dfb) -> !block
      %t = "ttl.copy"(%pipe, %blk) : (!ttl.pipe<@net, "dst">, !block) -> !ttl.transfer_handle<"receive">
      "ttl.wait"(%t) : (!ttl.transfer_handle<"receive">) -> ()
      "ttl.dfb_push"(%b_dfb) : (!dfb) -> ()
      %read = "ttl.dfb_wait"(%b_dfb) : (!dfb) -> !block
      "ttl.dfb_pop"(%b_dfb) : (!dfb) -> ()
      "ttl.yield"() : () -> ()
    }) : () -> ()
    func.return
  }
}
