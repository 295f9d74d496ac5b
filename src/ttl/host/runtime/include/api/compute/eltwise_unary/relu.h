#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(relu_tile_init)
TTL_PLAIN_INIT(relu_min_tile_init)
TTL_PLAIN_INIT(relu_max_tile_init)
TTL_PLAIN_INIT(leaky_relu_tile_init)

TTL_OF_SLOT(relu_tile)
TTL_OF_SLOT(relu_tile_int32)
TTL_OF_SLOT1(relu_min_tile)
TTL_OF_SLOT1(relu_max_tile)

namespace ckernel {

namespace detail {
OfSlot1 leaky_relu_tile;
}

ALWI void leaky_relu_tile(uint32_t idst, uint32_t slope = 0, int line = __builtin_LINE()) {
  detail::leaky_relu_tile(idst, slope, VectorMode::RC, line);
}

}  // namespace ckernel
