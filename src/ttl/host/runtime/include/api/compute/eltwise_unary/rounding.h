#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
OfSlot1 round_tile;
}

ALWI void round_tile(uint32_t idst, int32_t decimals, int line = __builtin_LINE()) {
  detail::round_tile(idst, static_cast<uint32_t>(decimals), VectorMode::RC, line);
}

}  // namespace ckernel
