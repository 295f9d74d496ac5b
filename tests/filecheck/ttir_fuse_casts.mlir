// RUN: ttl opt %s -p ttir-fuse-casts | filecheck %s

func.func @main(%x: tensor<4x8xbf16>, %y: tensor<4x8xf32>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xf32>) {
  %0 = ttir.typecast(%x) : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %1 = ttir.gelu(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = ttir.typecast(%1) : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  // This one is given in float32, and the next is used as float32.
  %3 = ttir.gelu(%y) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = ttir.typecast(%3) : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  %5 = ttir.silu(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %6 = ttir.typecast(%5) : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  %7 = ttir.typecast(%6) : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %8 = ttir.add(%5, %7) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2, %4, %8 : tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xf32>
}

// CHECK: [[G:%.*]] = ttir.gelu(%x) : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
// CHECK: ttir.gelu(%y) : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK: ttir.silu({{.*}}) : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK: func.return [[G]],
