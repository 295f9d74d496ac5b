#pragma once

#include "api/compute/common_globals.h"

TTL_VECTOR_INIT(rdiv_tile_init)

namespace ckernel {

namespace detail {
OfSlot2 rdiv_tile;
}

template <
    RoundingMode rounding_mode = RoundingMode::None,
    bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void rdiv_tile(
    uint32_t dst_index,
    uint32_t value,
    VectorMode vector_mode = VectorMode::RC,
    int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  detail::rdiv_tile(dst_index, value, static_cast<uint32_t>(rounding_mode), vector_mode, line);
}

}  // namespace ckernel
