// RUN: ttl opt %s -p ttl-lower-pipe-roles | filecheck %s

!dfb = !ttl.dfb<[1 : i64, 1 : i64], !ttcore.tile<32x32, f32>, 2 : i64>
!block = tensor<1x1x!ttcore.tile<32x32, f32>>
!post = !ttl.transfer_handle<"receive">
!send = !ttl.transfer_handle<"send">

// Two pipes end at node (0, 0): a loop. No node has two that start there: a condition. A receive
// that leaves its body is carried on as two numbers.
builtin.module attributes {ttl.target_arch = "wormhole_b0", ttl.launch_grid = [3 : i64, 1 : i64]} {
  "ttl.dataflow_buffer"() <{sym_name = "dfb", type = !dfb}> : () -> ()
  "ttl.pipe_net"() <{sym_name = "net", pipes = [array<i64: 1, 0, 0, 0, 0, 0>, array<i64: 2, 0, 0, 0, 0, 0>]}> : () -> ()
  func.func @move() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"} {
    %dfb = "ttl.bind_dfb"() <{buffer = @dfb}> : () -> !dfb
    %block = "ttl.dfb_reserve"(%dfb) : (!dfb) -> !block
    %none = "ttl.no_transfer"() : () -> !post
    %last = "ttl.if_dst"(%none) <{net = @net}> ({
    ^bb0(%pipe: !ttl.pipe<@net, "dst">, %before: !post):
      %post = "ttl.copy"(%pipe, %block) : (!ttl.pipe<@net, "dst">, !block) -> !post
      "ttl.yield"(%post) : (!post) -> ()
    }) : (!post) -> !post
    "ttl.if_src"() <{net = @net}> ({
    ^bb0(%pipe: !ttl.pipe<@net, "src">):
      %sent = "ttl.copy"(%block, %pipe) : (!block, !ttl.pipe<@net, "src">) -> !send
      "ttl.wait"(%sent) : (!send) -> ()
      "ttl.yield"() : () -> ()
    }) : () -> ()
    "ttl.wait"(%last) : (!post) -> ()
    func.return
  }
}

// CHECK: %[[COUNT:.*]] = "ttl.pipe_count"() <{net = @net, role = "dst"}>
// CHECK: %[[PLACE:.*]], %[[NUMBER:.*]] = scf.for %[[I:.*]] = %{{.*}} to %[[COUNT]]
// CHECK: "ttl.local_pipe"(%[[I]]) <{net = @net}> : (index) -> !ttl.pipe<@net, "dst">
// CHECK: "ttl.transfer_parts"
// CHECK: scf.yield
// CHECK: %[[LAST:.*]] = "ttl.transfer_of"(%[[PLACE]], %[[NUMBER]]) <{net = @net}>
// CHECK: %[[SENDS:.*]] = "ttl.pipe_count"() <{net = @net, role = "src"}>
// CHECK: arith.cmpi sgt, %[[SENDS]]
// CHECK: scf.if
// CHECK: "ttl.wait"(%[[LAST]])
// CHECK-NOT: ttl.if_
