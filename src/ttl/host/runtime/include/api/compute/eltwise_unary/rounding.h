#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
void round_tile(uint32_t slot, int32_t decimals, int line);
}

ALWI void round_tile(uint32_t idst, int32_t decimals, int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  detail::round_tile(idst, decimals, line);
}

}  // namespace ckernel
