// api/compute/eltwise_unary/log1p.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
OfSlot log1p_tile;
}

template <bool fast_and_approx = false, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
TTL_VECTOR_INIT(log1p_tile_init)

template <bool fast_and_approx = false, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
TTL_OF_SLOT(log1p_tile)

}  // namespace ckernel
