// RUN: ttl opt %s -p d2m-grid-selection | filecheck %s

#layout = #ttcore.metal_layout<logical_shape = 64x256, dim_alignments = 32x32, collapsed_intervals = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, undef, l1>
!tile = !ttcore.tile<32x32, f32>
!block = tensor<2x8x!tile>
!device = tensor<1x1x2x8x!tile, #layout>
!two = tensor<1x2x2x4x!tile, #layout>
!cb = !d2m.cb<!block>

builtin.module {
  // As many rows as there are tiles, and the most columns that the device has and that divide 8.
  ttcore.device @default_device = <workerGrid = #ttcore.grid<4x7>, dramGrid = #ttcore.grid<1x12>>

  // CHECK-LABEL: @divided
  // CHECK: %out = d2m.empty() : tensor<2x4x1x2x!ttcore.tile<32x32, f32>,
  // CHECK: d2m.generic {block_factors = [1 : i64, 1 : i64], grid = #ttcore.grid<2x4>
  // CHECK: ^compute0(%cb: !d2m.cb<tensor<1x2x!ttcore.tile<32x32, f32>>>):
  // CHECK: d2m.reserve %cb : !d2m.cb<tensor<1x2x!ttcore.tile<32x32, f32>>> -> tensor<1x2x!
  // CHECK: linalg.generic
  // CHECK-SAME: outs(%{{.*}} : tensor<1x2x!ttcore.tile<32x32, f32>>)
  func.func @divided() {
    %out = d2m.empty() : !device
    %r = d2m.generic {block_factors = [1 : i64, 1 : i64], grid = #ttcore.grid<1x1>, indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = [#ttcore.iterator_type<parallel>, #ttcore.iterator_type<parallel>], threads = [#d2m.thread<compute>]} ins( : ) outs(%out : !device) {
    ^compute0(%cb: !cb):
      %block = d2m.reserve %cb : !cb -> !block
      %zero = d2m.empty() : !block
      %value = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%zero : !block) outs(%zero : !block) {
      ^bb0(%a: !tile, %b: !tile):
        %c = d2m.tile_exp(%a) : (!tile) -> !tile
        linalg.yield %c : !tile
      } -> !block
      d2m.store %value, %block : !block, !block
      d2m.yield
    } : !device
    func.return
  }

  // One that has several cores keeps them.
  // CHECK-LABEL: @kept
  // CHECK: grid = #ttcore.grid<1x2>
  // CHECK-NOT: grid = #ttcore.grid<2x4>
  func.func @kept() {
    %out = d2m.empty() : !two
    %r = d2m.generic {block_factors = [1 : i64, 1 : i64], grid = #ttcore.grid<1x2>, indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = [#ttcore.iterator_type<parallel>, #ttcore.iterator_type<parallel>], threads = [#d2m.thread<compute>]} ins( : ) outs(%out : !two) {
    ^compute0(%cb: !d2m.cb<tensor<2x4x!tile>>):
      d2m.yield
    } : !two
    func.return
  }
}
