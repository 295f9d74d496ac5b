// api/compute/eltwise_unary/sqrt.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
OfSlot sqrt_tile;
}

TTL_VECTOR_INIT(sqrt_tile_init)

template <bool FAST_APPROX = false, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
TTL_OF_SLOT(sqrt_tile)

}  // namespace ckernel
