#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(softplus_tile_init)

namespace ckernel {

namespace detail {
OfSlot3 softplus_tile;
}

TTL_WIDE ALWI void softplus_tile(
    uint32_t idst,
    uint32_t beta,
    uint32_t beta_reciprocal,
    uint32_t threshold,
    int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  detail::softplus_tile(idst, beta, beta_reciprocal, threshold, VectorMode::RC, line);
}

}  // namespace ckernel
