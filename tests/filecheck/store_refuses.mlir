// RUN: not ttl opt %s 2>&1 | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!block = tensor<1x1x!tile>

builtin.module {
  func.func @compute(%value : tensor<1x2x!tile>, %block : !block) {
    "ttl.store"(%value, %block) : (tensor<1x2x!tile>, !block) -> ()
    func.return
  }
}

// The rule is the language's own.
// CHECK: error[TTL8001]
// CHECK-SAME: a value of shape (1, 2) is stored into a block of shape (1, 1)
