// RUN: ttl opt %s -p ttir-fuse-activations | filecheck %s

!t = tensor<4x8xf32>
!s = tensor<f32>

func.func @silu(%x: !t, %y: !t) -> (!t, !t) {
  %0 = ttir.sigmoid(%x) : (!t) -> !t
  %1 = ttir.multiply(%x, %0) : (!t, !t) -> !t
  %2 = ttir.multiply(%y, %0) : (!t, !t) -> !t
  return %1, %2 : !t, !t
}

// CHECK:      func.func @silu
// CHECK-NEXT: [[G:%.*]] = ttir.sigmoid(%x)
// CHECK-NEXT: [[S:%.*]] = ttir.silu(%x)
// CHECK-NEXT: [[P:%.*]] = ttir.multiply(%y, [[G]])
// CHECK-NEXT: func.return [[S]], [[P]]

// As torch and as jax write it.
func.func @gelu(%x: !t) -> (!t, !t) {
  %half = ttir.full() {fill_value = 0.5 : f64, shape = []} : () -> !s
  %root = ttir.full() {fill_value = 0.70710678 : f64, shape = []} : () -> !s
  %one = ttir.full() {fill_value = 1.0 : f64, shape = []} : () -> !s
  %minus = ttir.full() {fill_value = -0.70710678 : f64, shape = []} : () -> !s
  %0 = ttir.multiply(%x, %half) : (!t, !s) -> !t
  %1 = ttir.multiply(%x, %root) : (!t, !s) -> !t
  %2 = ttir.erf(%1) : (!t) -> !t
  %3 = ttir.add(%2, %one) : (!t, !s) -> !t
  %4 = ttir.multiply(%0, %3) : (!t, !t) -> !t
  %5 = ttir.multiply(%x, %minus) : (!t, !s) -> !t
  %6 = ttir.erfc(%5) : (!t) -> !t
  %7 = ttir.multiply(%x, %6) : (!t, !t) -> !t
  %8 = ttir.multiply(%half, %7) : (!s, !t) -> !t
  return %4, %8 : !t, !t
}

// CHECK:      func.func @gelu
// CHECK-NEXT: [[A:%.*]] = ttir.gelu(%x)
// CHECK-NEXT: func.return [[A]], [[A]]

// As torch, jax and transformers write the one that is made of tanh.
func.func @gelu_tanh(%x: !t) -> (!t, !t) {
  %half = ttir.full() {fill_value = 0.5 : f64, shape = []} : () -> !s
  %root = ttir.full() {fill_value = 0.7978845608 : f64, shape = []} : () -> !s
  %one = ttir.full() {fill_value = 1.0 : f64, shape = []} : () -> !s
  %small = ttir.full() {fill_value = 0.044715 : f64, shape = []} : () -> !s
  %0 = ttir.multiply(%x, %x) : (!t, !t) -> !t
  %1 = ttir.multiply(%0, %x) : (!t, !t) -> !t
  %2 = ttir.multiply(%1, %small) : (!t, !s) -> !t
  %3 = ttir.add(%x, %2) : (!t, !t) -> !t
  %4 = ttir.multiply(%3, %root) : (!t, !s) -> !t
  %5 = ttir.tanh(%4) : (!t) -> !t
  %6 = ttir.add(%5, %one) : (!t, !s) -> !t
  %7 = ttir.multiply(%x, %half) : (!t, !s) -> !t
  %8 = ttir.multiply(%7, %6) : (!t, !t) -> !t
  %9 = ttir.multiply(%0, %small) : (!t, !s) -> !t
  %10 = ttir.add(%one, %9) : (!s, !t) -> !t
  %11 = ttir.multiply(%x, %root) : (!t, !s) -> !t
  %12 = ttir.multiply(%11, %10) : (!t, !t) -> !t
  %13 = ttir.tanh(%12) : (!t) -> !t
  %14 = ttir.add(%one, %13) : (!s, !t) -> !t
  %15 = ttir.multiply(%half, %14) : (!s, !t) -> !t
  %16 = ttir.multiply(%x, %15) : (!t, !t) -> !t
  return %8, %16 : !t, !t
}

// CHECK:      func.func @gelu_tanh
// CHECK-NEXT: [[A:%.*]] = ttir.gelu_tanh(%x)
// CHECK-NEXT: func.return [[A]], [[A]]

// x * x in the place of x * x * x is another function, and so is another x.
func.func @not_gelu_tanh(%x: !t, %y: !t) -> (!t, !t) {
  %half = ttir.full() {fill_value = 0.5 : f64, shape = []} : () -> !s
  %root = ttir.full() {fill_value = 0.7978845608 : f64, shape = []} : () -> !s
  %one = ttir.full() {fill_value = 1.0 : f64, shape = []} : () -> !s
  %small = ttir.full() {fill_value = 0.044715 : f64, shape = []} : () -> !s
  %0 = ttir.multiply(%x, %x) : (!t, !t) -> !t
  %1 = ttir.multiply(%0, %small) : (!t, !s) -> !t
  %2 = ttir.add(%x, %1) : (!t, !t) -> !t
  %3 = ttir.multiply(%2, %root) : (!t, !s) -> !t
  %4 = ttir.tanh(%3) : (!t) -> !t
  %5 = ttir.add(%4, %one) : (!t, !s) -> !t
  %6 = ttir.multiply(%x, %half) : (!t, !s) -> !t
  %7 = ttir.multiply(%6, %5) : (!t, !t) -> !t
  %8 = ttir.multiply(%0, %x) : (!t, !t) -> !t
  %9 = ttir.multiply(%8, %small) : (!t, !s) -> !t
  %10 = ttir.add(%y, %9) : (!t, !t) -> !t
  %11 = ttir.multiply(%10, %root) : (!t, !s) -> !t
  %12 = ttir.tanh(%11) : (!t) -> !t
  %13 = ttir.add(%12, %one) : (!t, !s) -> !t
  %14 = ttir.multiply(%6, %13) : (!t, !t) -> !t
  return %7, %14 : !t, !t
}

// CHECK:     func.func @not_gelu_tanh
// CHECK-NOT: gelu
// CHECK:     func.return

// Another number in it is another function.
func.func @other(%x: !t) -> !t {
  %half = ttir.full() {fill_value = 0.5 : f64, shape = []} : () -> !s
  %one = ttir.full() {fill_value = 1.0 : f64, shape = []} : () -> !s
  %0 = ttir.multiply(%x, %half) : (!t, !s) -> !t
  %1 = ttir.erf(%x) : (!t) -> !t
  %2 = ttir.add(%1, %one) : (!t, !s) -> !t
  %3 = ttir.multiply(%0, %2) : (!t, !t) -> !t
  return %3 : !t
}

// CHECK:     func.func @other
// CHECK-NOT: gelu
// CHECK:     func.return
