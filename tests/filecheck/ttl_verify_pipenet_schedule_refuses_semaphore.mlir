// RUN: not ttl opt %s -p ttl-verify-pipenet-schedule 2>&1 | filecheck %s

// Three nodes add 2 each; 5 is not among the sums, in whatever order they come.
// CHECK: error[TTL5001]: deadlock: `dm` on node (0, 0) waits for `done` to be 5 (it is 6), but no other kernel is left to do it
// CHECK: = help: let the changes of semaphore `done` add up to the value that is waited for
builtin.module attributes {ttl.launch_grid = [4 : i64, 1 : i64], ttl.target_arch = "wormhole_b0"} {
  "ttl.semaphore"() <{sym_name = "done", initial = 0 : i64}> : () -> ()
  func.func @dm() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"} {
    %zero = arith.constant 0 : index
    %two = arith.constant 2 : index
    %five = arith.constant 5 : index
    %x = "ttl.node_index"() <{dimension = 0 : i64}> : () -> index
    %is_first = arith.cmpi eq, %x, %zero : index
    scf.if %is_first {
      "ttl.semaphore_wait"(%five) <{semaphore = @done}> : (index) -> ()
    } else {
      "ttl.semaphore_inc_remote"(%two, %zero, %zero) <{semaphore = @done}> : (index, index, index) -> ()
    }
    func.return
  }
}
