// RUN: not ttl opt %s -p ttcore-register-device{mock-system-desc-arch=grayskull} 2>&1 | filecheck %s

// CHECK: error[TTL6021]: there is no chip `grayskull`
// CHECK: = help: use wormhole_b0
builtin.module {
}
