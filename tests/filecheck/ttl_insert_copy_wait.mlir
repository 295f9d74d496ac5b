// RUN: ttl opt %s -p ttl-insert-copy-wait | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>
!transfer = !ttl.transfer_handle<"write">

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @write(%y : !block) attributes {ttl.kernel_thread = "writer"} {
    %y_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb}> : () -> !dfb
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %one step %one {
      %y_blk = "ttl.dfb_wait"(%y_dfb) {implicit_release} : (!dfb) -> !block
      %first = "ttl.copy"(%y_blk, %y) {implicit_wait = "end of body"} : (!block, !block) -> !transfer
      %second = "ttl.copy"(%y_blk, %y) {implicit_wait = "at once"} : (!block, !block) -> !transfer
      %third = "ttl.copy"(%y_blk, %y) : (!block, !block) -> !transfer
      "ttl.wait"(%third) : (!transfer) -> ()
    }
    func.return
  }
}

// At once behind the copy; else at the end of the body. Releases are left for ttl-insert-cb-sync.
// CHECK:      %y_blk = "ttl.dfb_wait"(%y_dfb) {implicit_release}
// CHECK-NEXT: %first = "ttl.copy"(%y_blk, %y) :
// CHECK-NEXT: %second = "ttl.copy"(%y_blk, %y) :
// CHECK-NEXT: "ttl.wait"(%second)
// CHECK-NEXT: %third = "ttl.copy"
// CHECK-NEXT: "ttl.wait"(%third)
// CHECK-NEXT: "ttl.wait"(%first)
// CHECK-NEXT: }
// CHECK-NEXT: func.return
