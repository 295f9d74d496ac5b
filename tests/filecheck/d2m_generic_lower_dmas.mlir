// RUN: ttl opt %s -p d2m-generic-lower-dmas,d2m-generic-regions-to-funcs | filecheck %s

#view = #ttcore.metal_layout<logical_shape = 64x64, dim_alignments = 32x32, collapsed_intervals = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, undef, l1, index_map = map(4)>
#layout = #ttcore.metal_layout<logical_shape = 64x64, dim_alignments = 32x32, collapsed_intervals = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, undef, l1>
!tile = !ttcore.tile<32x32, f32>
!stream = tensor<1x1x2x2x!tile, #view>
!device = tensor<1x1x2x2x!tile, #layout>
!block = tensor<2x2x!tile>
!cb = !d2m.cb<!block>

builtin.module {
  func.func @f(%x: !stream, %out: !device) {
    %r = d2m.generic {block_factors = [], grid = #ttcore.grid<1x1>, indexing_maps = [], iterator_types = [], threads = [#d2m.thread<datamovement>, #d2m.thread<compute>]} ins(%x : !stream) outs(%out : !device) {
    ^datamovement0(%x_cb: !cb, %out_cb: !cb):
      %y = d2m.core_index(0 : i64) : index
      %block = d2m.reserve %x_cb : !cb -> !block
      %tx = d2m.dma %x[%y, %y], %block : !stream, !block -> !d2m.mem_tx
      d2m.dma_wait %tx
      %to = d2m.dma %block, %block core[%y, %y] mcast[%y, %y] : !block, !block -> !d2m.mem_tx
      d2m.dma_wait %to
    }, {
    ^compute0(%x_cb: !cb, %out_cb: !cb):
      %b = d2m.wait %x_cb : !cb -> !block
    } : !device
    func.return
  }
}

// CHECK: threads = [#d2m.thread<datamovement, @datamovement_kernel0>, #d2m.thread<compute, @compute_kernel0>]
// CHECK: func.func @datamovement_kernel0(%x_cb{{.*}}, %out_cb{{.*}}, %x{{.*}}) attributes {ttkernel.thread = #ttkernel.thread<noc>, d2m.operands = [0 : i64]}
// CHECK: %[[TWO:.*]] = arith.constant 2 : index
// CHECK-NEXT: %[[ROW:.*]] = arith.muli %y, %[[TWO]]
// CHECK: d2m.dma_read %x[%[[ROW]], %{{.*}}], %block
// CHECK: d2m.dma_write %block, %block core[%y, %y] mcast[%y, %y]
// CHECK: func.func @compute_kernel0({{.*}}) attributes {ttkernel.thread = #ttkernel.thread<compute>, d2m.operands = []}
