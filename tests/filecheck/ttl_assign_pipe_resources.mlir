// RUN: ttl opt %s -p ttl-assign-pipe-resources | filecheck %s

!dfb = !ttl.dfb<[1 : i64, 1 : i64], !ttcore.tile<32x32, f32>, 2 : i64>
!block = tensor<1x1x!ttcore.tile<32x32, f32>>
!post = !ttl.transfer_handle<"receive">

// The program's semaphore is first. A ring shares one count of posts and one of blocks; the
// multicast, whose blocks are waited for after the next post, has a count of posts for each of two.
builtin.module attributes {ttl.target_arch = "wormhole_b0", ttl.launch_grid = [3 : i64, 1 : i64]} {
  "ttl.dataflow_buffer"() <{sym_name = "dfb", type = !dfb}> : () -> ()
  "ttl.semaphore"() <{sym_name = "mine", initial = 4 : i64}> : () -> ()
  "ttl.pipe_net"() <{sym_name = "ring", pipes = [array<i64: 0, 0, 1, 0, 1, 0>, array<i64: 1, 0, 2, 0, 2, 0>, array<i64: 2, 0, 0, 0, 0, 0>]}> : () -> ()
  "ttl.pipe_net"() <{sym_name = "all", pipes = [array<i64: 0, 0, 0, 0, 2, 0>]}> : () -> ()
  func.func @move() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"} {
    %dfb = "ttl.bind_dfb"() <{buffer = @dfb}> : () -> !dfb
    %block = "ttl.dfb_reserve"(%dfb) : (!dfb) -> !block
    %group = "ttl.group"() : () -> !ttl.transfer_group
    "ttl.if_dst"() <{net = @ring}> ({
    ^bb0(%pipe: !ttl.pipe<@ring, "dst">):
      %post = "ttl.copy"(%pipe, %block) : (!ttl.pipe<@ring, "dst">, !block) -> !post
      "ttl.wait"(%post) : (!post) -> ()
      "ttl.yield"() : () -> ()
    }) : () -> ()
    "ttl.if_dst"() <{net = @all}> ({
    ^bb0(%pipe: !ttl.pipe<@all, "dst">):
      %post = "ttl.copy"(%pipe, %block) : (!ttl.pipe<@all, "dst">, !block) -> !post
      "ttl.group_add"(%group, %post) : (!ttl.transfer_group, !post) -> ()
      "ttl.yield"() : () -> ()
    }) : () -> ()
    "ttl.group_wait"(%group) : (!ttl.transfer_group) -> ()
    func.return
  }
}

// Two words for staging and then the tables: one word for the ring, two rows of three for the other.
// CHECK: ttl.semaphore_count = 6 : i64, ttl.pipe_sram_scratch_bytes = 64 : i64
// CHECK: sym_name = "mine", initial = 4 : i64, index = 0 : i64
// CHECK: sym_name = "ring"
// CHECK-SAME: depth = 1 : i64, ready = array<i64: 1, 1, 1>, done = array<i64: 2, 2, 2>, table = array<i64: 32, 32, 32>
// CHECK: sym_name = "all"
// CHECK-SAME: depth = 2 : i64, ready = array<i64: 3>, done = array<i64: 5>, table = array<i64: 36>, is_multicast
// There are semaphores enough.
// CHECK-NOT: _in_scratch
