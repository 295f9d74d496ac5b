// RUN: not ttl opt %s 2>&1 | filecheck %s

// The verifier uses the type rule of the op table.
!tile = !ttcore.tile<32x32, bf16>

builtin.module {
  func.func @compute(%a: tensor<1x2x!tile>, %b: tensor<2x1x!tile>) {
    %s = "ttl.add"(%a, %b) : (tensor<1x2x!tile>, tensor<2x1x!tile>) -> tensor<1x2x!tile>
    func.return
  }
}

// CHECK: error[TTL8001]: {{.*}}operands have different shapes: (1, 2)
