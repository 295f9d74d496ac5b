// RUN: not ttl opt %s -p ttl-verify-pipenet-guards 2>&1 | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>

// All nodes wait for what comes out of the pipe.
// CHECK: error[TTL5001]: deadlock: `write` waits for a block of `b_dfb` on node (0, 0), which is not a receiver of `net`; only those push to it
// CHECK: = seen on 1 of 2 nodes; first on node (0, 0)
// CHECK: = help: write `if net.is_dst():` around what `write` does with the block
builtin.module attributes {ttl.launch_grid = [2 : i64, 1 : i64], ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !dfb}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "b_dfb", type = !dfb}> : () -> ()
  "ttl.pipe_net"() <{sym_name = "net", pipes = [array<i64: 0, 0, 1, 0, 1, 0>]}> : () -> ()
  func.func @read() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %b_dfb = "ttl.bind_dfb"() <{buffer = @b_dfb}> : () -> !dfb
    "ttl.if_src"() <{net = @net}> ({
    ^bb0(%pipe : !ttl.pipe<@net, "src">):
      %blk = "ttl.dfb_reserve"(%a_dfb) : (!dfb) -> !block
      %send = "ttl.copy"(%blk, %pipe) : (!block, !ttl.pipe<@net, "src">) -> !ttl.transfer_handle<"send">
      "ttl.wait"(%send) : (!ttl.transfer_handle<"send">) -> ()
      "ttl.dfb_push"(%a_dfb) : (!dfb) -> ()
      %again = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
      "ttl.dfb_pop"(%a_dfb) : (!dfb) -> ()
      "ttl.yield"() : () -> ()
    }) : () -> ()
    "ttl.if_dst"() <{net = @net}> ({
    ^bb0(%pipe : !ttl.pipe<@net, "dst">):
      %blk = "ttl.dfb_reserve"(%b_dfb) : (!dfb) -> !block
      %receive = "ttl.copy"(%pipe, %blk) : (!ttl.pipe<@net, "dst">, !block) -> !ttl.transfer_handle<"receive">
      "ttl.wait"(%receive) : (!ttl.transfer_handle<"receive">) -> ()
      "ttl.dfb_push"(%b_dfb) : (!dfb) -> ()
      "ttl.yield"() : () -> ()
    }) : () -> ()
    func.return
  }
  func.func @write() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "writer"} {
    %b_dfb = "ttl.bind_dfb"() <{buffer = @b_dfb}> : () -> !dfb
    %blk = "ttl.dfb_wait"(%b_dfb) : (!dfb) -> !block
    "ttl.dfb_pop"(%b_dfb) : (!dfb) -> ()
    func.return
  }
}
