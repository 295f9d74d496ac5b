// RUN: not ttl opt %s 2>&1 | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!block = tensor<2x3x!tile>
!column = tensor<2x1x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @wrong(%a : !block, %s : !block) attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %r = "ttl.reduce_sum"(%a, %s) <{parameters = {dims = [-1 : i64]}}> : (!block, !block) -> !column
    func.return
  }
}

// CHECK: error[TTL8001]: {{.*}}the scaler of {{.*}} is a number or a block of shape (1, 1), not of shape (2, 3)
