// RUN: not ttl opt %s -p linalg-to-loops 2>&1 | filecheck %s

!tile = !ttcore.tile<32x32, f32>
!block = tensor<2x4x!tile>

// CHECK: error[TTL7001]: the compiler does not translate linalg whose maps calculate yet
func.func @moved(%a: tensor<3x4x!tile>, %out: !block) -> !block {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 + 1, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<3x4x!tile>) outs(%out : !block) {
  ^bb0(%x: !tile, %y: !tile):
    %1 = d2m.tile_exp(%x) : (!tile) -> !tile
    linalg.yield %1 : !tile
  } -> !block
  func.return %0 : !block
}
