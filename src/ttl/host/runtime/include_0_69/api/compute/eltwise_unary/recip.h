// api/compute/eltwise_unary/recip.h of ttnn 0.69: the names that 0.81 has no more.
#pragma once

#include_next "api/compute/eltwise_unary/recip.h"

namespace ckernel {

template <bool legacy_compat>
ALWI void recip_tile_init(CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  recip_tile_init<>();
}

template <bool legacy_compat>
ALWI void recip_tile(
    uint32_t idst, VectorMode vector_mode = VectorMode::RC, int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  recip_tile<>(idst, vector_mode, line);
}

}  // namespace ckernel
