// RUN: ttl opt %s -p canonicalize | filecheck %s

builtin.module {
  func.func @read() {
    %zero = arith.constant 0 : index
    %two = arith.constant 2 : index
    %three = arith.constant 3 : index
    %x = "ttkernel.get_absolute_logical_x"() : () -> index
    %same = arith.addi %x, %zero : index
    %unused = arith.muli %x, %three : index
    affine.for %i = 0 to 2 {
      %page = arith.addi %same, %i : index
      %folded = arith.addi %two, %three : index
      %at = arith.addi %page, %folded : index
      "ttkernel.fill_tile"(%at) <{value = 1.0 : f32}> : (index) -> ()
      affine.yield
    }
    func.return
  }
}

// CHECK:      func.func @read() {
// CHECK-NEXT: %x = "ttkernel.get_absolute_logical_x"()
// CHECK-NEXT: affine.for %i = 0 to 2 {
// CHECK-NEXT: %page = arith.addi %x, %i
// CHECK-NEXT: %folded = arith.constant 5
// CHECK-NEXT: %at = arith.addi %page, %folded
