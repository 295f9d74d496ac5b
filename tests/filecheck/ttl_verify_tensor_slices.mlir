// RUN: ttl opt %s -p ttl-verify-tensor-slices | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 2 : i64], !tile, 2 : i64>
!block = tensor<1x2x!tile>

// Node x reads tiles 2x and 2x + 1; a slice outside is under a condition that no node fulfils.
// CHECK: "ttl.tensor_slice"
builtin.module attributes {ttl.launch_grid = [4 : i64, 1 : i64], ttl.target_arch = "wormhole_b0"} {
  func.func @read(%a: tensor<1x8x!tile>) attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"} {
    %x = "ttl.node_index"() <{dimension = 0 : i64}> : () -> index
    %zero = arith.constant 0 : index
    %two = arith.constant 2 : index
    %eight = arith.constant 8 : index
    %column = arith.muli %x, %two : index
    %0 = "ttl.tensor_slice"(%a, %zero, %column) : (tensor<1x8x!tile>, index, index) -> !block
    %is_outside = arith.cmpi sge, %column, %eight : index
    scf.if %is_outside {
      %1 = "ttl.tensor_slice"(%a, %zero, %eight) : (tensor<1x8x!tile>, index, index) -> !block
    }
    func.return
  }
}
