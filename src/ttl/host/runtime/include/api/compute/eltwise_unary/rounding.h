#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(rounding_op_tile_init)
TTL_OF_SLOT(floor_tile)
TTL_OF_SLOT(ceil_tile)
TTL_OF_SLOT(trunc_tile)
TTL_OF_SLOT(frac_tile)

namespace ckernel {

namespace detail {
OfSlot1 round_tile;
}

ALWI void round_tile(uint32_t idst, int32_t decimals, int line = __builtin_LINE()) {
  detail::round_tile(idst, static_cast<uint32_t>(decimals), VectorMode::RC, line);
}

}  // namespace ckernel
