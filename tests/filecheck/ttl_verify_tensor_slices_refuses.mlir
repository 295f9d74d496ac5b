// RUN: not ttl opt %s -p ttl-verify-tensor-slices 2>&1 | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!block = tensor<1x2x!tile>

// Only the last node, in its last iteration, goes over the edge.
// CHECK: error[TTL2004]: slice 8:10 of dimension 1 of tensor `a` does not lie in 0:9 (in tiles)
// CHECK: = on node (1, 0)
builtin.module attributes {ttl.launch_grid = [2 : i64, 1 : i64], ttl.target_arch = "wormhole_b0"} {
  func.func @read(%a: tensor<1x9x!tile>) attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"} {
    %x = "ttl.node_index"() <{dimension = 0 : i64}> : () -> index
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %three = arith.constant 3 : index
    %four = arith.constant 4 : index
    scf.for %i = %zero to %three step %one {
      %first = arith.muli %x, %four : index
      %way = arith.muli %i, %two : index
      %column = arith.addi %first, %way : index
      %0 = "ttl.tensor_slice"(%a, %zero, %column) : (tensor<1x9x!tile>, index, index) -> !block
    }
    func.return
  }
}
