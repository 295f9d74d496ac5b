#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

enum class ReciprocalDestAcc { BF16, FP32 };
enum class ReciprocalApproxMode { Default, Precise, Approximate };

namespace detail {
OfSlot recip_tile;
}

template <
    ReciprocalDestAcc dest_acc = DST_ACCUM_MODE ? ReciprocalDestAcc::FP32 : ReciprocalDestAcc::BF16,
    ReciprocalApproxMode approximation = ReciprocalApproxMode::Default>
ALWI void recip_tile(
    uint32_t idst, VectorMode vector_mode = VectorMode::RC, int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  detail::recip_tile(idst, vector_mode, line);
}

}  // namespace ckernel

TTL_VECTOR_INIT(
    recip_tile_init,
    template <
        ReciprocalDestAcc dest_acc =
            DST_ACCUM_MODE ? ReciprocalDestAcc::FP32 : ReciprocalDestAcc::BF16,
        ReciprocalApproxMode approximation = ReciprocalApproxMode::Default>)
