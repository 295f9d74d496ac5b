// RUN: ttl opt %s -p arith-to-d2m-tile-ops | filecheck %s

!tile = !ttcore.tile<32x32, f32>
!flags = !ttcore.tile<32x32, i1>

// CHECK-LABEL: @calculate
// CHECK: d2m.tile_add(%a, %b)
// CHECK: d2m.tile_sub
// CHECK: d2m.tile_mul
// CHECK: d2m.tile_div
// CHECK: d2m.tile_negative
// CHECK-NOT: arith.divf %
func.func @calculate(%a: !tile, %b: !tile) -> !tile {
  %0 = arith.addf %a, %b : !tile
  %1 = arith.subf %0, %b : !tile
  %2 = arith.mulf %1, %b : !tile
  %3 = arith.divf %2, %b : !tile
  %4 = arith.negf %3 : !tile
  func.return %4 : !tile
}

// CHECK-LABEL: @compare
// CHECK: %0 = d2m.tile_sub(%a, %b)
// CHECK: %1 = d2m.tile_gez(%0) : (!ttcore.tile<32x32, f32>) -> !ttcore.tile<32x32, i1>
func.func @compare(%a: !tile, %b: !tile) -> !flags {
  %0 = arith.cmpf oge, %a, %b : !tile
  func.return %0 : !flags
}

// Numbers stay.
// CHECK-LABEL: @numbers
// CHECK: arith.addf %x, %x : f32
func.func @numbers(%x: f32) -> f32 {
  %0 = arith.addf %x, %x : f32
  func.return %0 : f32
}
