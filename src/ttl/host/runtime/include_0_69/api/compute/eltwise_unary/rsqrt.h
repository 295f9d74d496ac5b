// api/compute/eltwise_unary/rsqrt.h of ttnn 0.69: the names that 0.81 has no more.
#pragma once

#include_next "api/compute/eltwise_unary/rsqrt.h"

namespace ckernel {

template <bool legacy_compat>
ALWI void rsqrt_tile_init(CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  rsqrt_tile_init();
}

template <bool legacy_compat, bool FAST_APPROX = false>
ALWI void rsqrt_tile(uint32_t idst, int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  detail::rsqrt_tile(idst, VectorMode::RC, line);
}

}  // namespace ckernel
