// RUN: ttl opt %s -p ttnn-deallocate | filecheck %s

!t = tensor<64x32xbf16>

func.func @returned(%a: !t, %b: !t, %out: !t) -> !t {
  %0 = ttnn.tt_lang_op(%a, %b, %out) {arg_roles = "in,in,out", kernel_id = "k", version_tag = "t"} : (!t, !t, !t) -> !t
  return %0 : !t
}

// The operands are freed behind their last use; the output is what is returned.
// CHECK-LABEL: func.func @returned
// CHECK-NEXT: [[R:%.*]] = ttnn.tt_lang_op(%a, %b, %out)
// CHECK-NEXT: ttnn.deallocate(%b)
// CHECK-NEXT: ttnn.deallocate(%a)
// CHECK-NEXT: func.return [[R]]

func.func @used(%a: !t) -> !t {
  %e = ttnn.empty() {shape = array<i64: 64, 32>} : () -> !t
  %0 = ttnn.tt_lang_op(%a, %e) {arg_roles = "in,out", kernel_id = "k", version_tag = "t"} : (!t, !t) -> !t
  %1 = ttnn.neg(%0) : (!t) -> !t
  %2 = ttnn.exp(%1) : (!t) -> !t
  %unused = ttnn.log(%1) : (!t) -> !t
  return %2 : !t
}

// A result has the buffer of the operand it is written to, which lives until its last use.
// CHECK-LABEL: func.func @used
// CHECK-NEXT: %e = ttnn.empty()
// CHECK-NEXT: [[K:%.*]] = ttnn.tt_lang_op(%a, %e)
// CHECK-NEXT: ttnn.deallocate(%a)
// CHECK-NEXT: [[N:%.*]] = ttnn.neg([[K]])
// CHECK-NEXT: ttnn.deallocate(%e)
// CHECK-NEXT: [[X:%.*]] = ttnn.exp([[N]])
// CHECK-NEXT: %unused = ttnn.log([[N]])
// CHECK-NEXT: ttnn.deallocate(%unused)
// CHECK-NEXT: ttnn.deallocate([[N]])
// CHECK-NEXT: func.return [[X]]
// CHECK-NOT: ttnn.deallocate
