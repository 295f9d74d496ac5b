// RUN: not ttl opt %s -p arith-to-d2m-tile-ops 2>&1 | filecheck %s

// CHECK: error[TTL7001]: the compiler does not translate the comparison ueq of tiles yet
func.func @compare(%a: !ttcore.tile<32x32, f32>) -> !ttcore.tile<32x32, i1> {
  %0 = arith.cmpf ueq, %a, %a : !ttcore.tile<32x32, f32>
  func.return %0 : !ttcore.tile<32x32, i1>
}
