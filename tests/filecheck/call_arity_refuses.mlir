// RUN: not ttl opt %s 2>&1 | filecheck %s

// The verifier knows how many arguments the chip's functions take.
builtin.module {
  func.func @compute() {
    %d = arith.constant 0 : index
    "ttkernel.exp_tile"(%d, %d) : (index, index) -> ()
    func.return
  }
}

// CHECK: error[TTL8001]: {{.*}}ttkernel.exp_tile takes 1 arguments, not 2
