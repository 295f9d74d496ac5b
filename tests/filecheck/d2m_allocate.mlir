// RUN: ttl opt %s -p d2m-allocate | filecheck %s

!shard = memref<1x1x2x2x!ttcore.tile<32x32, bf16>, #ttcore.shard<4096x2048>, #ttcore.memory_space<l1>>
!double = memref<1x1x2x2x!ttcore.tile<32x32, bf16>, #ttcore.shard<4096x2048, 2>, #ttcore.memory_space<l1>>
!view = memref<1x1x2x2x!ttcore.tile<32x32, bf16>, #ttcore.view<map(4)>, #ttcore.memory_space<l1>>
!dram = memref<1x1x2x2x!ttcore.tile<32x32, bf16>, #ttcore.shard<4096x2048>, #ttcore.memory_space<dram>>
!host = memref<64x64xbf16>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @f(%x: !host) {
    %a = memref.alloc() : !shard
    %b = d2m.tilize(%x, %a) : (!host, !shard) -> !shard
    %c = memref.alloc() : !double
    %d = d2m.stream_layout(%b, %c) : (!shard, !double) -> !view
    %e = memref.alloc() : !dram
    %f = d2m.tilize(%x, %e) : (!host, !dram) -> !dram
    %g = memref.alloc() : !shard
    %h = d2m.tilize(%x, %g) : (!host, !shard) -> !shard
    func.return
  }
}

// The first and the second live together, the last when both are gone.
// CHECK: %a = memref.alloc() {alignment = 16 : i64, address = 0 : i64}
// CHECK: %c = memref.alloc() {alignment = 16 : i64, address = 8192 : i64}
// CHECK: d2m.stream_layout
// CHECK-NEXT: memref.dealloc
// CHECK-NEXT: memref.dealloc
// CHECK: %e = memref.alloc() {alignment = 32 : i64, address = 0 : i64}
// CHECK: %g = memref.alloc() {alignment = 16 : i64, address = 0 : i64}
