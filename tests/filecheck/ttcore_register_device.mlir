// RUN: ttl opt %s -p ttcore-register-device | filecheck %s
// RUN: ttl opt %s -p ttcore-register-device{mock-system-desc-arch=blackhole} | filecheck %s --check-prefix=OTHER
// RUN: ttl opt %s -p ttcore-register-device,ttcore-register-device | filecheck %s

// CHECK: builtin.module attributes {ttcore.system_desc = #ttcore.system_desc<
// CHECK-SAME: arch = <wormhole_b0>, grid = 8x8,
// CHECK-SAME: l1_size = 1499136, num_dram_channels = 12,
// CHECK: ttcore.device @default_device = <workerGrid = #ttcore.grid<8x8,
// CHECK-SAME: dramGrid = #ttcore.grid<1x12>
// CHECK-NOT: ttcore.device @
// OTHER: arch = <blackhole>
builtin.module {
  func.func @f() {
    func.return
  }
}
