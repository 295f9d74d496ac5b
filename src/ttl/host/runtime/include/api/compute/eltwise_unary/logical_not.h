#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(logical_not_tile_init)

namespace ckernel {

namespace detail {
void logical_not_tile(uint32_t slot, DataFormat format, int line);
}

template <DataFormat DATA_FORMAT>
ALWI void logical_not_tile(uint32_t idst, int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  detail::logical_not_tile(idst, DATA_FORMAT, line);
}

}  // namespace ckernel
