// RUN: ttl opt %s -p ttl-post-before-send | filecheck %s

!dfb = !ttl.dfb<[1 : i64, 1 : i64], !ttcore.tile<32x32, f32>, 2 : i64>
!block = tensor<1x1x!ttcore.tile<32x32, f32>>
!post = !ttl.transfer_handle<"receive">
!send = !ttl.transfer_handle<"send">

// The send goes behind the posts that follow it, not behind what may wait.
builtin.module attributes {ttl.target_arch = "wormhole_b0", ttl.launch_grid = [2 : i64, 1 : i64]} {
  "ttl.dataflow_buffer"() <{sym_name = "dfb", type = !dfb}> : () -> ()
  "ttl.pipe_net"() <{sym_name = "net", pipes = [array<i64: 0, 0, 1, 0, 1, 0>, array<i64: 1, 0, 0, 0, 0, 0>]}> : () -> ()
  func.func @move() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"} {
    %dfb = "ttl.bind_dfb"() <{buffer = @dfb}> : () -> !dfb
    %own = "ttl.dfb_wait"(%dfb) : (!dfb) -> !block
    %other = "ttl.dfb_reserve"(%dfb) : (!dfb) -> !block
    %group = "ttl.group"() : () -> !ttl.transfer_group
    "ttl.if_src"() <{net = @net}> ({
    ^bb0(%pipe: !ttl.pipe<@net, "src">):
      %sent = "ttl.copy"(%own, %pipe) : (!block, !ttl.pipe<@net, "src">) -> !send
      "ttl.group_add"(%group, %sent) : (!ttl.transfer_group, !send) -> ()
      "ttl.yield"() : () -> ()
    }) : () -> ()
    "ttl.if_dst"() <{net = @net}> ({
    ^bb0(%pipe: !ttl.pipe<@net, "dst">):
      %post = "ttl.copy"(%pipe, %other) : (!ttl.pipe<@net, "dst">, !block) -> !post
      "ttl.group_add"(%group, %post) : (!ttl.transfer_group, !post) -> ()
      "ttl.yield"() : () -> ()
    }) : () -> ()
    "ttl.group_wait"(%group) : (!ttl.transfer_group) -> ()
    func.return
  }
}

// CHECK: ttl.if_dst
// CHECK: "ttl.copy"(%pipe, %other)
// CHECK: ttl.if_src
// CHECK: "ttl.copy"(%own, %pipe
// CHECK: ttl.group_wait
