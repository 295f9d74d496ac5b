// RUN: ttl opt %s -p linalg-to-loops | filecheck %s

!tile = !ttcore.tile<32x32, f32>
!left = tensor<2x3x!tile>
!right = tensor<3x4x!tile>
!block = tensor<2x4x!tile>
!memory = memref<2x4x!tile, #ttcore.memory_space<l1>>

// A block that is a value is carried by the loops; the sum is read where it is written.
// CHECK-LABEL: @product
// CHECK: scf.for %d0 = {{.*}} iter_args
// CHECK: scf.for %d1
// CHECK: scf.for %d2
// CHECK: %[[A:.*]] = tensor.extract %a[%d0, %d2]
// CHECK: %[[B:.*]] = tensor.extract %b[%d2, %d1]
// CHECK: %[[C:.*]] = tensor.extract %{{.*}}[%d0, %d1]
// CHECK: %[[D:.*]] = d2m.tile_matmul(%[[A]], %[[B]], %[[C]])
// CHECK: tensor.insert %[[D]] into %{{.*}}[%d0, %d1]
// CHECK: } {d2m.linalg_root}
// CHECK-NOT: linalg.generic
func.func @product(%a: !left, %b: !right, %out: !block) -> !block {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : !left, !right) outs(%out : !block) {
  ^bb0(%x: !tile, %y: !tile, %z: !tile):
    %1 = d2m.tile_matmul(%x, %y, %z) : (!tile, !tile, !tile) -> !tile
    linalg.yield %1 : !tile
  } -> !block
  func.return %0 : !block
}

// One in memory is loaded and stored.
// CHECK-LABEL: @in_memory
// CHECK: %[[A:.*]] = memref.load %a[%d0, %d1]
// CHECK: %[[B:.*]] = d2m.tile_exp(%[[A]])
// CHECK: memref.store %[[B]], %out[%d0, %d1]
func.func @in_memory(%a: !memory, %out: !memory) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a : !memory) outs(%out : !memory) {
  ^bb0(%x: !tile, %y: !tile):
    %1 = d2m.tile_exp(%x) : (!tile) -> !tile
    linalg.yield %1 : !tile
  }
  func.return
}
