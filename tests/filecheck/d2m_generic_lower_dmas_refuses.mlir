// RUN: not ttl opt %s -p d2m-generic-lower-dmas 2>&1 | filecheck %s

#view = #ttcore.metal_layout<logical_shape = 64x64, dim_alignments = 32x32, collapsed_intervals = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, undef, l1, index_map = map(4)>
#layout = #ttcore.metal_layout<logical_shape = 64x64, dim_alignments = 32x32, collapsed_intervals = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, undef, l1>
!tile = !ttcore.tile<32x32, f32>
!stream = tensor<2x2x1x1x!tile, #view>
!device = tensor<2x2x1x1x!tile, #layout>
!cb = !d2m.cb<tensor<1x1x!tile>>

// CHECK: error[TTL2004]: index 3 of the stream of `x`: dimension 0 of its grid has 2 rows, 0 to 1
builtin.module {
  func.func @f(%x: !stream, %out: !device) {
    %r = d2m.generic {block_factors = [], grid = #ttcore.grid<2x2>, indexing_maps = [], iterator_types = [], threads = [#d2m.thread<datamovement>]} ins(%x : !stream) outs(%out : !device) {
    ^datamovement0(%x_cb: !cb, %out_cb: !cb):
      %y = d2m.core_index(0 : i64) : index
      %x_1 = d2m.core_index(1 : i64) : index
      %two = arith.constant 2 : index
      %rows = arith.muli %y, %two : index
      %index = arith.addi %rows, %x_1 : index
      %block = d2m.reserve %x_cb : !cb -> tensor<1x1x!tile>
      %tx = d2m.dma %x[%index, %y], %block : !stream, tensor<1x1x!tile> -> !d2m.mem_tx
      d2m.dma_wait %tx
    } : !device
    func.return
  }
}
