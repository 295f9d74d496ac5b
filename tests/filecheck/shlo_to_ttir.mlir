// RUN: ttl opt %s -p shlo-to-ttir | filecheck %s

func.func @elements(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %n: tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi1>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %odd = stablehlo.constant dense<[1.0, 3.0]> : tensor<2xf32>
  %0 = stablehlo.exponential %a : tensor<4x8xf32>
  %1 = stablehlo.divide %0, %b : tensor<4x8xf32>
  %2 = stablehlo.clamp %zero, %1, %one : (tensor<f32>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %3 = stablehlo.compare LT, %2, %b, FLOAT : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %4 = stablehlo.convert %n : (tensor<4x8xi32>) -> tensor<4x8xi1>
  %5 = stablehlo.and %3, %4 : tensor<4x8xi1>
  %6 = stablehlo.select %5, %a, %2 : tensor<4x8xi1>, tensor<4x8xf32>
  %7 = stablehlo.convert %n : (tensor<4x8xi32>) -> tensor<4x8xf32>
  %8 = stablehlo.power %6, %7 : tensor<4x8xf32>
  %9 = chlo.erf %8 : tensor<4x8xf32> -> tensor<4x8xf32>
  return %9, %5 : tensor<4x8xf32>, tensor<4x8xi1>
}

// CHECK-LABEL: func.func @elements
// CHECK: [[ZERO:%.*]] = ttir.full() {fill_value = 0.000000e+00 : f64, shape = []} : () -> tensor<f32>
// CHECK: [[ONE:%.*]] = ttir.full() {fill_value = 1.000000e+00 : f64, shape = []} : () -> tensor<f32>
// CHECK: ttir.constant() {value = dense<[1.000000e+00, 3.000000e+00]> : tensor<2xf32>} : () -> tensor<2xf32>
// CHECK: [[E:%.*]] = ttir.exp(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK: [[D:%.*]] = ttir.div([[E]], %b)
// CHECK: [[LOW:%.*]] = ttir.maximum([[D]], [[ZERO]])
// CHECK: [[C:%.*]] = ttir.minimum([[LOW]], [[ONE]])
// CHECK: [[LT:%.*]] = ttir.lt([[C]], %b) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
// A number is true if it is not 0, not if its last bit is set.
// CHECK: [[NIL:%.*]] = ttir.full() {fill_value = 0.000000e+00 : f64, shape = []} : () -> tensor<i32>
// CHECK: [[NE:%.*]] = ttir.ne(%n, [[NIL]]) : (tensor<4x8xi32>, tensor<i32>) -> tensor<4x8xi1>
// CHECK: [[AND:%.*]] = ttir.logical_and([[LT]], [[NE]])
// CHECK: [[W:%.*]] = ttir.where([[AND]], %a, [[C]])
// CHECK: [[T:%.*]] = ttir.typecast(%n) : (tensor<4x8xi32>) -> tensor<4x8xf32>
// CHECK: [[P:%.*]] = ttir.pow([[W]], [[T]])
// CHECK: ttir.erf([[P]])

func.func @shapes(%a: tensor<2x3x4xf32>, %b: tensor<2x5x4xf32>, %v: tensor<3xf32>) -> tensor<2x3x5xf32> {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x3x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x5xf32>
  %1 = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<3xf32>) -> tensor<2x3x5xf32>
  %2 = stablehlo.add %0, %1 : tensor<2x3x5xf32>
  %3 = stablehlo.transpose %2, dims = [0, 2, 1] : (tensor<2x3x5xf32>) -> tensor<2x5x3xf32>
  %4 = stablehlo.reshape %3 : (tensor<2x5x3xf32>) -> tensor<2x15xf32>
  %5 = stablehlo.slice %4 [0:1, 0:15:2] : (tensor<2x15xf32>) -> tensor<1x8xf32>
  %6 = stablehlo.concatenate %5, %5, dim = 0 : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<2x8xf32>
  %7 = stablehlo.iota dim = 1 : tensor<2x8xi32>
  return %2 : tensor<2x3x5xf32>
}

// CHECK-LABEL: func.func @shapes
// CHECK: [[B:%.*]] = ttir.permute(%b) {permutation = array<i64: 0, 2, 1>} : (tensor<2x5x4xf32>) -> tensor<2x4x5xf32>
// CHECK: [[M:%.*]] = ttir.matmul(%a, [[B]]) : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
// CHECK: [[R:%.*]] = ttir.reshape(%v) {shape = array<i64: 1, 3, 1>}
// CHECK: [[X:%.*]] = ttir.broadcast([[R]]) {shape = array<i64: 2, 3, 5>}
// CHECK: ttir.add([[M]], [[X]])
// CHECK: ttir.permute({{.*}}) {permutation = array<i64: 0, 2, 1>}
// CHECK: ttir.reshape({{.*}}) {shape = array<i64: 2, 15>}
// CHECK: ttir.slice({{.*}}) {begins = array<i64: 0, 0>, ends = array<i64: 1, 15>, step = array<i64: 1, 2>}
// CHECK: ttir.concat({{.*}}) {dim = 0 : i64}
// CHECK: ttir.arange() {dim = 1 : i64, shape = array<i64: 2, 8>} : () -> tensor<2x8xi32>

// The dimension that is indexed comes first, and its place is taken by those of the indices. Those of
// PyTorch are checked when the graph runs, others are the nearest that there is.
func.func @places(%a: tensor<4x8x2xf32>, %i: tensor<3x5xi32>, %n: tensor<4xi32>) -> tensor<4x3x5x2xf32> {
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 3], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 4, 1, 2>}> {mhlo.frontend_attributes = {indices = "checked"}} : (tensor<4x8x2xf32>, tensor<3x5xi32>) -> tensor<4x3x5x2xf32>
  %1 = stablehlo.divide %n, %n : tensor<4xi32>
  %2 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 3], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 4, 1, 2>}> : (tensor<4x8x2xf32>, tensor<3x5xi32>) -> tensor<4x3x5x2xf32>
  return %0 : tensor<4x3x5x2xf32>
}

// CHECK-LABEL: func.func @places
// CHECK: [[P:%.*]] = ttir.permute(%a) {permutation = array<i64: 1, 0, 2>} : (tensor<4x8x2xf32>) -> tensor<8x4x2xf32>
// CHECK: [[TABLE:%.*]] = ttir.reshape([[P]]) {shape = array<i64: 8, 8>}
// CHECK: [[ROWS:%.*]] = ttir.embedding(%i, [[TABLE]]) : (tensor<3x5xi32>, tensor<8x8xf32>) -> tensor<3x5x8xf32>
// CHECK: ttir.reshape([[ROWS]])
// CHECK: ttir.permute({{.*}}) {permutation = array<i64: 2, 0, 1, 3>} : (tensor<3x5x4x2xf32>) -> tensor<4x3x5x2xf32>
// CHECK: [[REST:%.*]] = ttir.remainder(%n, %n)
// CHECK: [[LESS:%.*]] = ttir.subtract(%n, [[REST]])
// CHECK: ttir.div([[LESS]], %n) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
// CHECK: [[LOW:%.*]] = ttir.maximum(%i,
// CHECK: [[NEAREST:%.*]] = ttir.minimum([[LOW]],
// CHECK: ttir.embedding([[NEAREST]],

func.func @reductions(%a: tensor<4x8xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.reduce(%a init: %least) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.reduce(%a init: %s) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
  %3 = stablehlo.add %0, %1 : tensor<4xf32>
  return %3 : tensor<4xf32>
}

// CHECK-LABEL: func.func @reductions
// CHECK: [[SUM:%.*]] = ttir.sum(%a) {dim_arg = array<i64: 1>, keep_dim = false} : (tensor<4x8xf32>) -> tensor<4xf32>
// CHECK: [[MAX:%.*]] = ttir.max(%a) {dim_arg = array<i64: 1>, keep_dim = false}
// A start value that changes something is taken into account.
// CHECK: [[ALL:%.*]] = ttir.max(%a) {dim_arg = array<i64: 0, 1>, keep_dim = false} : (tensor<4x8xf32>) -> tensor<f32>
// CHECK: ttir.maximum([[ALL]], %s)
// CHECK: ttir.add([[SUM]], [[MAX]])

// The outputs are operands: they are the inits.
func.func @with_outputs(%a: tensor<64x32xbf16>, %out: tensor<64x32xbf16>) -> tensor<64x32xbf16> {
  %0 = stablehlo.custom_call @tt.tt_lang_op(%a, %out) {api_version = 0 : i32, mhlo.frontend_attributes = {arg_roles = "in,out", kernel_id = "k", shard_spec = "{\"a\": 1}", version_tag = "t"}} : (tensor<64x32xbf16>, tensor<64x32xbf16>) -> tensor<64x32xbf16>
  return %0 : tensor<64x32xbf16>
}

// CHECK-LABEL: func.func @with_outputs
// CHECK: ttir.tt_lang_op(%a, %out) {arg_roles = "in,out", kernel_id = "k", shard_spec = "{\22a\22: 1}", version_tag = "t"} : (tensor<64x32xbf16>, tensor<64x32xbf16>) -> tensor<64x32xbf16>

// They are not: each result gets an empty tensor of its own. A tuple is taken apart.
func.func @tuple(%a: tensor<64x32xbf16>) -> (tensor<64x32xbf16>, tensor<64x32xbf16>) {
  %0 = stablehlo.custom_call @tt.tt_lang_op(%a) {api_version = 0 : i32, mhlo.frontend_attributes = {arg_roles = "in,out,out", kernel_id = "k", version_tag = "t"}, xla_shape = "(bf16[64,32]{1,0}, bf16[64,32]{1,0})"} : (tensor<64x32xbf16>) -> tuple<tensor<64x32xbf16>, tensor<64x32xbf16>>
  %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<64x32xbf16>, tensor<64x32xbf16>>) -> tensor<64x32xbf16>
  %2 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<64x32xbf16>, tensor<64x32xbf16>>) -> tensor<64x32xbf16>
  return %2, %1 : tensor<64x32xbf16>, tensor<64x32xbf16>
}

// CHECK-LABEL: func.func @tuple
// CHECK: [[P:%.*]] = ttir.empty() {shape = array<i64: 64, 32>} : () -> tensor<64x32xbf16>
// CHECK: [[Q:%.*]] = ttir.empty() {shape = array<i64: 64, 32>} : () -> tensor<64x32xbf16>
// CHECK: [[R:%.*]], [[S:%.*]] = ttir.tt_lang_op(%a, [[P]], [[Q]]) {arg_roles = "in,out,out", kernel_id = "k", version_tag = "t"}
// CHECK: func.return [[S]], [[R]]

func.func @returned_tuple(%a: tensor<f32>) -> tuple<tensor<f32>, tensor<f32>> {
  %0 = stablehlo.tuple %a, %a : tuple<tensor<f32>, tensor<f32>>
  return %0 : tuple<tensor<f32>, tensor<f32>>
}

// CHECK-LABEL: func.func @returned_tuple
// CHECK-SAME: -> (tensor<f32>, tensor<f32>)
// CHECK: func.return %a, %a
// CHECK-NOT: stablehlo

// The state of random bits is 64 bits wide in StableHLO, and four words here.
func.func @random(%words: tensor<2x2xui32>) -> tensor<6xui32> {
  %0 = stablehlo.bitcast_convert %words : (tensor<2x2xui32>) -> tensor<2xui64>
  %1, %2 = stablehlo.rng_bit_generator %0, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<6xui32>)
  return %2 : tensor<6xui32>
}

// CHECK-LABEL: func.func @random
// CHECK: [[WORDS:%.*]] = ttir.reshape(%words) {shape = array<i64: 4>}
// CHECK: ttir.random_bits([[WORDS]]) {shape = array<i64: 6>} : (tensor<4xui32>) -> tensor<6xui32>
// CHECK-NOT: ui64

// A float that a short number cannot hold becomes the nearest one that it can, NaN zero.
func.func @short(%a: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xi8>, tensor<4xui8>) {
  %0 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xi8>
  %1 = stablehlo.convert %n : (tensor<4xi32>) -> tensor<4xui8>
  return %0, %1 : tensor<4xi8>, tensor<4xui8>
}

// CHECK-LABEL: func.func @short
// CHECK: ttir.ne(%a, %a)
// CHECK: [[LEAST:%.*]] = ttir.maximum(
// CHECK: [[MOST:%.*]] = ttir.minimum([[LEAST]],
// CHECK: ttir.typecast([[MOST]]) : (tensor<4xf32>) -> tensor<4xi8>
// CHECK-NOT: ttir.minimum
// CHECK: ttir.typecast(%n) : (tensor<4xi32>) -> tensor<4xui8>
