// RUN: not ttl opt %s -p cse 2>&1 | filecheck %s

!dfb = !ttl.dfb<[1 : i64, 1 : i64], !ttcore.tile<32x32, f32>, 2 : i64>
!block = tensor<1x1x!ttcore.tile<32x32, f32>>
!send = !ttl.transfer_handle<"send">

// A node that receives cannot send through the pipe.
builtin.module attributes {ttl.target_arch = "wormhole_b0", ttl.launch_grid = [2 : i64, 1 : i64]} {
  "ttl.pipe_net"() <{sym_name = "net", pipes = [array<i64: 0, 0, 1, 0, 1, 0>]}> : () -> ()
  func.func @move() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"} {
    %dfb = "ttl.bind_dfb"() <{buffer = @dfb}> : () -> !dfb
    %block = "ttl.dfb_wait"(%dfb) : (!dfb) -> !block
    "ttl.if_dst"() <{net = @net}> ({
    ^bb0(%pipe: !ttl.pipe<@net, "dst">):
      %sent = "ttl.copy"(%block, %pipe) : (!block, !ttl.pipe<@net, "dst">) -> !send
      "ttl.yield"() : () -> ()
    }) : () -> ()
    func.return
  }
}

// CHECK: a send goes by a pipe of which the node is src
