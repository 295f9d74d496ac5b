// RUN: not ttl opt %s -p convert-ttkernel-to-emitc 2>&1 | filecheck %s

// lower-affine has not run: there is no C++ for an affine loop.
builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    affine.for %tile = 0 to 4 {
      "ttkernel.fill_tile"(%tile) <{value = 1.0 : f32}> : (index) -> ()
      affine.yield
    }
    func.return
  }
}

// CHECK: error[TTL8003]: pass `convert-ttkernel-to-emitc` cannot work on this IR
// CHECK: = the pipeline: ttl-insert-copy-wait, ttl-insert-cb-sync, ttl-post-before-send
// CHECK: = help: run the passes that come before it first
