// api/compute/eltwise_unary/rsqrt.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

enum class RsqrtMode { Default, Fast };

namespace detail {
OfSlot rsqrt_tile;
}

TTL_VECTOR_INIT(rsqrt_tile_init)

template <RsqrtMode mode = RsqrtMode::Default, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
TTL_OF_SLOT(rsqrt_tile)

}  // namespace ckernel
