// fuzz: {"kind": "ir", "seed": 1040, "failure": "opt: traceback: ValueError: Forward declared values do not have an owner"}
!q = tensor<1x4x8x16xf32>
!p = tensor<1x4x8x8xf32>
func.func @guarded(%q: !q, %k: !q, %v: !q, %mask: tensor<1x1x8x8xf32>) -> !q {
  %zero = ttir.full() {fill_value = 0.0 : f64, shape = []} : () -> tensor<f32>
  %7 = ttir.where(%6, %zero, %3) : (tensor<1x4x8x1xi1>, tensor<f32>, !p) -> !p
  %8 = ttir.matmul(%7, %v) : (!p, !q) -> !q
  return %8 : !q
}
func.func @rotary(%x: tensor<1x2x32x64xf32>, %c: tensor<1x1x32x64xf32>, %s: tensor<1x1x32x64xf32>) -> tensor<1x2x32x64xf32> {
  %0 = ttir.multiply(%x, %c) : (tensor<1x2x32x64xf32>, tensor<1x1x32x64xf32>) -> tensor<1x2x32x64xf32>
  %1 = ttir.slice(%x) {begins = array<i64: 0, 0, 0, 0>, ends = array<i64: 1, 2, 32, 32>, step = array<i64: 1, 1, 1, 1>} : (tensor<1x2x32x64xf32>) -> tensor<1x2x32x32xf32>
  %2 = ttir.slice(%x) {begins = array<i64: 0, 0, 0, 32>, ends = array<i64: 1, 2, 32, 64>, step = array<i64: 1, 1, 1, 1>} : (tensor<1x2x32x64xf32>) -> tensor<1x2x32x32xf32>
  %3 = ttir.neg(%2) : (tensor<1x2x32x32xf32>) -> tensor<1x2x32x32xf32>
  %4 = ttir.concat(%3, %1) {dim = 3 : i64} : (tensor<1x2x32x32xf32>, tensor<1x2x32x32xf32>) -> tensor<1x2x32x64xf32>
  %5 = ttir.multiply(%4, %s) : (tensor<1x2x32x64xf32>, tensor<1x1x32x64xf32>) -> tensor<1x2x32x64xf32>
  %6 = ttir.add(%0, %5) : (tensor<1x2x32x64xf32>, tensor<1x2x32x64xf32>) -> tensor<1x2x32x64xf32>
}
