// RUN: ttl opt %s -p ttir-to-ttnn | filecheck %s

!t = tensor<64x32xbf16>

func.func @main(%a: !t) -> !t {
  %0 = ttir.div(%a, %a) : (!t, !t) -> !t
  %1 = ttir.constant() {value = dense<[1.0, 2.0]> : tensor<2xbf16>} : () -> tensor<2xbf16>
  %2 = ttir.empty() {shape = array<i64: 64, 32>} : () -> !t
  %3 = ttir.tt_lang_op(%a, %0, %2) {arg_roles = "in,in,out", kernel_id = "k", shard_spec = "s", version_tag = "t"} : (!t, !t, !t) -> !t
  return %3 : !t
}

// CHECK-LABEL: func.func @main
// CHECK: [[D:%.*]] = ttnn.divide(%a, %a)
// CHECK: ttnn.constant() {value = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xbf16>}
// CHECK: [[E:%.*]] = ttnn.empty() {shape = array<i64: 64, 32>}
// Attributes stay as they are, and there is no artifact yet.
// CHECK: ttnn.tt_lang_op(%a, [[D]], [[E]]) {arg_roles = "in,in,out", kernel_id = "k", shard_spec = "s", version_tag = "t"}
// CHECK-NOT: kernel_artifact

// One buffer for two outputs, or for two operations of which the first one's result is still used.
func.func @shared(%a: !t, %out: !t) -> (!t, !t, !t) {
  %e = ttir.empty() {shape = array<i64: 64, 32>} : () -> !t
  %0, %1 = ttir.tt_lang_op(%a, %e, %e) {arg_roles = "in,out,out", kernel_id = "two", version_tag = "t"} : (!t, !t, !t) -> (!t, !t)
  %2 = ttir.tt_lang_op(%a, %out) {arg_roles = "in,out", kernel_id = "one", version_tag = "t"} : (!t, !t) -> !t
  %3 = ttir.add(%2, %out) : (!t, !t) -> !t
  return %0, %1, %3 : !t, !t, !t
}

// CHECK-LABEL: func.func @shared
// CHECK: [[E:%.*]] = ttnn.empty()
// CHECK: [[F:%.*]] = ttnn.empty()
// CHECK: ttnn.tt_lang_op(%a, [[F]], [[E]])
// The caller's tensor is read again: the kernel writes to a copy.
// CHECK: [[O:%.*]] = ttnn.assign(%out)
// CHECK: [[R:%.*]] = ttnn.tt_lang_op(%a, [[O]])
// CHECK: ttnn.add([[R]], %out)
