// RUN: ttl opt %s -p ttl-annotate-l1-acc-loops | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 2 : i64], !tile, 2 : i64>
!block = tensor<1x2x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  // The first value is only added to; the second is multiplied, the third is used in between.
  // CHECK:     scf.for
  // CHECK:     scf.yield
  // CHECK-NEXT: } {l1_acc = [0 : i64]}
  // CHECK-NOT: l1_acc
  func.func @sums() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %four = arith.constant 4 : index
    %start = "ttl.fill"() <{value = 0.0 : f32}> : () -> !block
    %a, %b, %c = scf.for %k = %zero to %four step %one iter_args(%x = %start, %y = %start, %z = %start) -> (!block, !block, !block) {
      %a_blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
      %p = "ttl.add"(%x, %a_blk) : (!block, !block) -> !block
      %q = "ttl.mul"(%y, %z) : (!block, !block) -> !block
      %r = "ttl.add"(%z, %a_blk) : (!block, !block) -> !block
      "ttl.dfb_pop"(%a_dfb) : (!dfb) -> ()
      scf.yield %p, %q, %r : !block, !block, !block
    }
    scf.for %k = %zero to %four step %one {
    }
    func.return
  }
}
