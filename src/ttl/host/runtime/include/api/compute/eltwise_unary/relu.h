#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(leaky_relu_tile_init)

namespace ckernel {

namespace detail {
OfSlot1 leaky_relu_tile;
}

ALWI void leaky_relu_tile(uint32_t idst, uint32_t slope = 0, int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  detail::leaky_relu_tile(idst, slope, VectorMode::RC, line);
}

}  // namespace ckernel
