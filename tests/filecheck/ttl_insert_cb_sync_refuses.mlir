// RUN: not ttl opt %s -p ttl-insert-cb-sync 2>&1 | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  // In a branch of the kernel it is fine.
  func.func @fine() attributes {ttl.kernel_thread = "compute"} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %true = arith.constant true
    scf.if %true {
      %0 = "ttl.dfb_wait"(%a_dfb) {implicit_release} : (!dfb) -> !block
    }
    func.return
  }
  func.func @wrong() attributes {ttl.kernel_thread = "reader"} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %true = arith.constant true
    scf.if %true {
      scf.if %true {
        %0 = "ttl.dfb_wait"(%a_dfb) {implicit_release} : (!dfb) -> !block
      }
    }
    func.return
  }
}

// CHECK: error[TTL7001]: the compiler does not translate a block in a branch of a branch, left to be released yet
// CHECK: = help: release it
