// RUN: ttl opt %s -p d2m-insert-dst-register-access{max-dst-physical-size-tiles=32} | filecheck %s
// RUN: ttl opt %s -p d2m-insert-dst-register-access{use-tile-matmul=false} | filecheck %s --check-prefix=BLOCK

!tile = !ttcore.tile<32x32, f32>
!memory = memref<1x1x!tile, #ttcore.memory_space<l1>>

// The sum is in a register, the factors are read from memory.
// CHECK: %dst = d2m.acquire_dst() : memref<8x!ttcore.tile<32x32, f32>, #ttcore.memory_space<dst>>
// CHECK: memref.store %[[SUM:.*]], %dst[%[[ZERO:.*]]]
// CHECK: %[[C:.*]] = memref.load %dst[%[[ZERO]]]
// CHECK: d2m.tile_matmul(%{{.*}}, %{{.*}}, %[[C]])
// CHECK: memref.store %{{.*}}, %out
// BLOCK: d2m.acquire_dst() : memref<4x!
// BLOCK: d2m.tile_matmul_block(%a, %b, %out)
// BLOCK-NOT: scf.for
func.func @product(%a: !memory, %b: !memory, %out: !memory) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : !memory, !memory) outs(%out : !memory) {
  ^bb0(%x: !tile, %y: !tile, %z: !tile):
    %1 = d2m.tile_matmul(%x, %y, %z) : (!tile, !tile, !tile) -> !tile
    linalg.yield %1 : !tile
  }
  func.return
}
