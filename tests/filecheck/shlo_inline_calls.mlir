// RUN: ttl opt %s -p shlo-inline-calls | filecheck %s

func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @twice(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @twice(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @negative(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.add %0, %x : tensor<4xf32>
  return %1 : tensor<4xf32>
}

func.func private @negative(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK:      func.func @main
// CHECK-NEXT: [[A:%.*]] = stablehlo.negate %a
// CHECK-NEXT: [[B:%.*]] = stablehlo.add [[A]], %a
// CHECK-NEXT: [[C:%.*]] = stablehlo.negate [[B]]
// CHECK-NEXT: [[D:%.*]] = stablehlo.add [[C]], [[B]]
// CHECK-NEXT: func.return [[D]]
// CHECK-NOT:  private
