// RUN: ttl opt %s -p d2m-insert-dst-register-access | filecheck %s
// RUN: ttl opt %s -p d2m-insert-dst-register-access,d2m-insert-dst-register-access | filecheck %s

// Operands go to registers; the sum stands where the first was, and is read from there.
// CHECK: tensor.extract %b
// CHECK: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK: %[[ONE:.*]] = arith.constant 1 : index
// CHECK: %dst = d2m.acquire_dst() : memref<4x!ttcore.tile<32x32, f32>, #ttcore.memory_space<dst>>
// CHECK: memref.store %x, %dst[%[[ZERO]]]
// CHECK: %[[X:.*]] = memref.load %dst[%[[ZERO]]]
// CHECK: memref.store %y, %dst[%[[ONE]]]
// CHECK: %[[Y:.*]] = memref.load %dst[%[[ONE]]]
// CHECK: %s = d2m.tile_add(%[[X]], %[[Y]])
// CHECK: memref.store %s, %dst[%[[ZERO]]]
// CHECK: %[[S:.*]] = memref.load %dst[%[[ZERO]]]
// CHECK: %e = d2m.tile_exp(%[[S]])
// CHECK: memref.store %e, %dst[%[[ZERO]]]
// CHECK: %[[E:.*]] = memref.load %dst[%[[ZERO]]]
// CHECK: tensor.insert %[[E]]
// CHECK-NOT: acquire_dst
!tile = !ttcore.tile<32x32, f32>
!block = tensor<1x1x!tile>

func.func @f(%a: !block, %b: !block, %out: !block) -> !block {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %one step %one iter_args(%now = %out) -> (!block) {
    %x = tensor.extract %a[%i, %i] : !block
    %y = tensor.extract %b[%i, %i] : !block
    %s = d2m.tile_add(%x, %y) : (!tile, !tile) -> !tile
    %e = d2m.tile_exp(%s) : (!tile) -> !tile
    %n = tensor.insert %e into %now[%i, %i] : !block
    scf.yield %n : !block
  } {d2m.linalg_root}
  func.return %r : !block
}
