// RUN: not ttl opt %s -p d2m-insert-dst-register-access 2>&1 | filecheck %s

// CHECK: error[TTL7001]: more tiles are needed at the same time than the 4 registers hold
!tile = !ttcore.tile<32x32, f32>
!block = tensor<1x1x!tile>

func.func @f(%a: !block, %b: !block, %out: !block) -> !block {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %one step %one iter_args(%now = %out) -> (!block) {
    %x = tensor.extract %a[%i, %i] : !block
    %e0 = d2m.tile_exp(%x) : (!tile) -> !tile
    %e1 = d2m.tile_exp(%x) : (!tile) -> !tile
    %e2 = d2m.tile_exp(%x) : (!tile) -> !tile
    %e3 = d2m.tile_exp(%x) : (!tile) -> !tile
    %e4 = d2m.tile_exp(%x) : (!tile) -> !tile
    %s1 = d2m.tile_add(%e0, %e1) : (!tile, !tile) -> !tile
    %s2 = d2m.tile_add(%s1, %e2) : (!tile, !tile) -> !tile
    %s3 = d2m.tile_add(%s2, %e3) : (!tile, !tile) -> !tile
    %s4 = d2m.tile_add(%s3, %e4) : (!tile, !tile) -> !tile
    %n = tensor.insert %s4 into %now[%i, %i] : !block
    scf.yield %n : !block
  } {d2m.linalg_root}
  func.return %r : !block
}
