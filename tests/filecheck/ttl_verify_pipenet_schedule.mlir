// RUN: ttl opt %s -p ttl-verify-pipenet-schedule | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>

// A ring of four nodes: post, send, wait for both, a million times; a semaphore at the end.
// CHECK: "ttl.pipe_net"
builtin.module attributes {ttl.launch_grid = [4 : i64, 1 : i64], ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !dfb}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "b_dfb", type = !dfb}> : () -> ()
  "ttl.semaphore"() <{sym_name = "done", initial = 0 : i64}> : () -> ()
  "ttl.pipe_net"() <{sym_name = "ring", pipes = [
    array<i64: 0, 0, 1, 0, 1, 0>, array<i64: 1, 0, 2, 0, 2, 0>,
    array<i64: 2, 0, 3, 0, 3, 0>, array<i64: 3, 0, 0, 0, 0, 0>]}> : () -> ()
  func.func @read() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %b_dfb = "ttl.bind_dfb"() <{buffer = @b_dfb}> : () -> !dfb
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %four = arith.constant 4 : index
    %million = arith.constant 1000000 : index
    scf.for %i = %zero to %million step %one {
      %received = "ttl.dfb_reserve"(%b_dfb) : (!dfb) -> !block
      %sent = "ttl.dfb_reserve"(%a_dfb) : (!dfb) -> !block
      %group = "ttl.group"() : () -> !ttl.transfer_group
      "ttl.if_dst"() <{net = @ring}> ({
      ^bb0(%pipe : !ttl.pipe<@ring, "dst">):
        %t = "ttl.copy"(%pipe, %received) : (!ttl.pipe<@ring, "dst">, !block) -> !ttl.transfer_handle<"receive">
        "ttl.group_add"(%group, %t) : (!ttl.transfer_group, !ttl.transfer_handle<"receive">) -> ()
        "ttl.yield"() : () -> ()
      }) : () -> ()
      "ttl.if_src"() <{net = @ring}> ({
      ^bb0(%pipe : !ttl.pipe<@ring, "src">):
        %t = "ttl.copy"(%sent, %pipe) : (!block, !ttl.pipe<@ring, "src">) -> !ttl.transfer_handle<"send">
        "ttl.group_add"(%group, %t) : (!ttl.transfer_group, !ttl.transfer_handle<"send">) -> ()
        "ttl.yield"() : () -> ()
      }) : () -> ()
      "ttl.group_wait"(%group) : (!ttl.transfer_group) -> ()
      "ttl.dfb_push"(%a_dfb) : (!dfb) -> ()
      "ttl.dfb_push"(%b_dfb) : (!dfb) -> ()
    }
    "ttl.semaphore_inc_remote"(%one, %zero, %zero) <{semaphore = @done}> : (index, index, index) -> ()
    %x = "ttl.node_index"() <{dimension = 0 : i64}> : () -> index
    %is_first = arith.cmpi eq, %x, %zero : index
    scf.if %is_first {
      "ttl.semaphore_wait"(%four) <{semaphore = @done}> : (index) -> ()
    }
    func.return
  }
  func.func @write() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "writer"} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %b_dfb = "ttl.bind_dfb"() <{buffer = @b_dfb}> : () -> !dfb
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %million = arith.constant 1000000 : index
    scf.for %i = %zero to %million step %one {
      %a_blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
      "ttl.dfb_pop"(%a_dfb) : (!dfb) -> ()
      %b_blk = "ttl.dfb_wait"(%b_dfb) : (!dfb) -> !block
      "ttl.dfb_pop"(%b_dfb) : (!dfb) -> ()
    }
    func.return
  }
}
