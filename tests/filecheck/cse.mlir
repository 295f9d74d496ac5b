// RUN: ttl opt %s -p cse | filecheck %s

builtin.module {
  func.func @read() {
    %x = "ttkernel.get_absolute_logical_x"() : () -> index
    %again = "ttkernel.get_absolute_logical_x"() : () -> index
    %two = arith.constant 2 : index
    %p = arith.muli %x, %two : index
    affine.for %i = 0 to 2 {
      %deux = arith.constant 2 : index
      %q = arith.muli %x, %deux : index
      %r = arith.muli %again, %two : index
      %s = arith.addi %q, %p : index
      %t = arith.addi %s, %r : index
      "ttkernel.fill_tile"(%t) <{value = 1.0 : f32}> : (index) -> ()
      affine.yield
    }
    func.return
  }
}

// Calls of the chip are not arithmetic: both stay.
// CHECK:      %x = "ttkernel.get_absolute_logical_x"()
// CHECK-NEXT: %again = "ttkernel.get_absolute_logical_x"()
// CHECK-NEXT: %two = arith.constant 2
// CHECK-NEXT: %p = arith.muli %x, %two
// CHECK-NEXT: affine.for
// CHECK-NEXT: %r = arith.muli %again, %two
// CHECK-NEXT: %s = arith.addi %p, %p
// CHECK-NEXT: %t = arith.addi %s, %r
// CHECK-NOT:  %q
