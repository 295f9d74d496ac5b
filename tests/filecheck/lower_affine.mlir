// RUN: ttl opt %s -p lower-affine | filecheck %s

builtin.module {
  func.func @compute() {
    affine.for %tile = 0 to 4 {
      %dst = affine.apply affine_map<(d0) -> ((d0 * 3 + 5))> (%tile)
      "ttkernel.fill_tile"(%dst) <{value = 1.0 : f32}> : (index) -> ()
      affine.yield
    }
    func.return
  }
}

// CHECK:      [[FROM:%[0-9]+]] = arith.constant 0 : index
// CHECK-NEXT: [[TO:%[0-9]+]] = arith.constant 4 : index
// CHECK-NEXT: [[STEP:%[0-9]+]] = arith.constant 1 : index
// CHECK-NEXT: scf.for %tile = [[FROM]] to [[TO]] step [[STEP]] {
// CHECK-NEXT: [[THREE:%[a-z0-9_]+]] = arith.constant 3 : index
// CHECK-NEXT: [[PRODUCT:%[a-z0-9_]+]] = arith.muli %tile, [[THREE]]
// CHECK-NEXT: [[FIVE:%[a-z0-9_]+]] = arith.constant 5 : index
// CHECK-NEXT: [[SUM:%[a-z0-9_]+]] = arith.addi [[PRODUCT]], [[FIVE]]
// CHECK-NEXT: "ttkernel.fill_tile"([[SUM]])
// CHECK:      } {ttl.over_tiles}
// CHECK-NOT:  affine
