#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

enum class RsqrtMode { Default, Fast };

}  // namespace ckernel

TTL_VECTOR_INIT(rsqrt_tile_init)

TTL_OF_SLOT(
    rsqrt_tile,
    template <RsqrtMode mode = RsqrtMode::Default, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>)
