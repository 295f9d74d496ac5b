// fuzz: {"kind": "ir", "seed": 1110, "failure": "opt: traceback: KeyError: IntegerAttr(value=IntAttr(data=-1), type=IntegerType(64))"}
!tile = !ttcore.tile<32x32, -1>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>
builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @narrow() attributes {ttkernel.thread = #ttkernel.thread<compute>, fp32_dest_acc_en = false} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %a = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    func.return
  }
}
