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
