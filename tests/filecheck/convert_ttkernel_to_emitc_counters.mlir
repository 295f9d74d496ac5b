// RUN: ttl opt %s -p convert-ttkernel-to-emitc --verify-each | filecheck %s

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>, ttl.tensor_names = [], ttl.base_cta_index = 0 : i64} {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %four = arith.constant 4 : index
    scf.for %own = %zero to %four step %one {
      "ttkernel.fill_tile"(%own) <{value = 1.0 : f32}> : (index) -> ()
      scf.yield
    }
    scf.for %tile = %zero to %four step %one {
      %0 = arith.addi %tile, %four : index
      "ttkernel.fill_tile"(%0) <{value = 1.0 : f32}> : (index) -> ()
      scf.yield
    } {ttl.over_tiles}
    scf.for %divided = %zero to %four step %one {
      %1 = arith.subi %divided, %one : index
      %2 = arith.divsi %1, %four : index
      "ttkernel.fill_tile"(%2) <{value = 1.0 : f32}> : (index) -> ()
      scf.yield
    } {ttl.over_tiles}
    func.return
  }
}

// CHECK: ^bb{{[0-9]+}}(%own: i32):
// A counter of the compiler's own needs no sign, and gcc makes shorter code without.
// CHECK: ^bb{{[0-9]+}}(%tile: !emitc.opaque<"uint32_t">):
// The quotient of a difference has other bits without a sign.
// CHECK: ^bb{{[0-9]+}}(%divided: i32):
