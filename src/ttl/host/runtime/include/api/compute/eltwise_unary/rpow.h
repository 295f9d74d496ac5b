#pragma once

#include "api/compute/common_globals.h"

TTL_VECTOR_INIT(rpow_tile_init)

namespace ckernel {

namespace detail {
OfSlot1 rpow_tile;
}

TTL_WIDE ALWI void rpow_tile(
    uint32_t idst,
    uint32_t base_val,
    VectorMode vector_mode = VectorMode::RC,
    int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  detail::rpow_tile(idst, base_val, vector_mode, line);
}

}  // namespace ckernel
