// RUN: not ttl opt %s 2>&1 | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!block = tensor<1x1x!tile>
!tensor = tensor<4x4x!tile>

builtin.module {
  func.func @read(%x : !tensor, %block : !block) {
    %zero = arith.constant 0 : index
    %part = "ttl.tensor_slice"(%x, %zero, %zero) : (!tensor, index, index) -> tensor<1x2x!tile>
    %t = "ttl.copy"(%part, %block) : (tensor<1x2x!tile>, !block) -> !ttl.transfer_handle<"read">
    func.return
  }
}

// CHECK: error[TTL8001]
// CHECK-SAME: a copy from (1, 2) bfloat16 to (1, 1) bfloat16
